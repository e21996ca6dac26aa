//! Several gateways that are one switchboard: a private NATS, four `serve --cluster`, and nginx, which picks another
//! of them for each request.
//!
//! Used by `subject`. Each process is a `listener`. The balancer knows nothing of sessions, and repeats no request.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::gateway;
use super::listener::{Listener, isolated};
use super::subject::Programs;
use crate::failure::{AboutFile, Failure, Result};
use crate::peers::Peers;

/// The number of replicas.
const REPLICAS: usize = 4;
/// How often the balancer is started: another process may take its port between the choice and the use.
const START_ATTEMPTS: usize = 3;

/// The replicas with their balancer, in the order in which they end.
pub(super) struct Replicas {
    balancer: Listener,
    gateways: Vec<Listener>,
    _nats: Listener,
}

// === impl Replicas ===

impl Replicas {
    /// Starts everything, with the server of `entry` behind each replica. Files are kept in `folder`.
    pub(super) fn start(
        programs: &Programs,
        peers: &Peers,
        entry: &Value,
        folder: &Path,
    ) -> Result<Self> {
        let nats = nats(peers, folder)?;
        let key = folder.join("cluster.key");
        fs::write(&key, "c1".repeat(32)).about("write", &key)?;
        fs::set_permissions(&key, Permissions::from_mode(0o600)).about("protect", &key)?;
        let membership = ["--cluster", nats.url(), "--cluster-name", "team"];
        let start = |number: usize| {
            let home = folder.join(format!("replica-{number}"));
            fs::create_dir_all(&home).about("make", &home)?;
            let mut command = gateway::command(programs, entry, &home)?;
            command.args(membership).arg("--cluster-key-file").arg(&key);
            gateway::listen(command, &home)
        };
        // Side by side: each takes a moment to join.
        let started = std::thread::scope(|scope| {
            let starting: Vec<_> =
                (0..REPLICAS).map(|number| scope.spawn(move || start(number))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            starting.into_iter().map(join).collect::<Result<Vec<_>>>()
        });
        let gateways = started?;
        let balancer = balancer(&gateways, folder)?;
        Ok(Self { balancer, gateways, _nats: nats })
    }

    /// The URL of the balancer.
    pub(super) fn url(&self) -> &str {
        self.balancer.url()
    }

    /// Asks all programs to end. Returns the worst exit status of a replica; `None` if one did not end in time.
    pub(super) fn stop(self) -> Result<Option<i32>> {
        self.balancer.stop()?;
        let mut worst = Some(0);
        for gateway in self.gateways {
            let status = gateway.stop()?;
            worst =
                worst.zip(status).map(|(worst, status)| if worst == 0 { status } else { worst });
        }
        Ok(worst)
    }
}

/// Starts a NATS server with `JetStream`; `peers` has the program.
fn nats(peers: &Peers, folder: &Path) -> Result<Listener> {
    let program = peers.root().join("python-nats/bin/nats-server");
    let data = folder.join("nats");
    let mut command = isolated(&program, folder);
    command.args(["--addr", "127.0.0.1", "--port", "-1", "--jetstream", "--store_dir"]).arg(&data);
    let announced = |line: &str| {
        let (_, address) = line.split_once("Listening for client connections on ")?;
        Some(format!("nats://{}", address.trim()))
    };
    Listener::start("nats", command, folder, announced)
}

/// Starts nginx before the gateways.
fn balancer(gateways: &[Listener], folder: &Path) -> Result<Listener> {
    let mut last = Failure::new("no port is free for the balancer");
    for _ in 0..START_ATTEMPTS {
        let held = TcpListener::bind("127.0.0.1:0")
            .and_then(|held| held.local_addr())
            .map_err(|why| Failure::new("cannot find a port").because(why))?;
        let config = folder.join("nginx.conf");
        let text = nginx_config(gateways, held.port(), folder)?;
        fs::write(&config, text).about("write", &config)?;
        // nginx says on no stream that it listens, so the shell does once its port takes connections.
        let mut command = isolated(Path::new("bash"), folder);
        command
            .arg("-c")
            .arg(START_SCRIPT)
            .arg("balancer")
            .arg(&config)
            .arg(held.port().to_string());
        match Listener::start("balancer", command, folder, |line| Some(line.trim().to_owned())) {
            Ok(started) => return Ok(started),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

/// Starts nginx with the configuration `$1`, says the URL at port `$2` when it answers, and ends with nginx.
const START_SCRIPT: &str = r#"
nginx -c "$1" -p "$PWD" -e stderr &
nginx=$!
trap 'kill -TERM $nginx' INT
until (: < "/dev/tcp/127.0.0.1/$2") 2>/dev/null; do
    kill -0 $nginx || exit 1
    sleep 0.02
done
echo "http://127.0.0.1:$2/mcp"
wait $nginx
wait $nginx
"#;

/// One upstream for each gateway, in turns. Nothing is buffered, repeated or kept for a client.
fn nginx_config(gateways: &[Listener], port: u16, folder: &Path) -> Result<String> {
    let mut upstreams = String::new();
    for gateway in gateways {
        let address = gateway.url().strip_prefix("http://").and_then(|url| url.split('/').next());
        let address = address.ok_or_else(|| Failure::new("a gateway has no address"))?;
        let _ = write!(upstreams, "server {address}; ");
    }
    let folder = folder.display();
    // A worker of another user is no client of this user. Only root may choose, and nobody else has to.
    let user = if is_root()? { "user root;" } else { "" };
    Ok(format!(
        "daemon off; {user} worker_processes 1; pid {folder}/nginx.pid; error_log stderr warn;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n\
         access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n\
         fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;\n\
         client_max_body_size 0;\n\
         upstream replicas {{ {upstreams} }}\n\
         server {{\n\
         listen 127.0.0.1:{port};\n\
         location / {{\n\
         proxy_pass http://replicas; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
         proxy_set_header Host $http_host; proxy_buffering off; proxy_request_buffering off;\n\
         proxy_read_timeout 1h; proxy_next_upstream off;\n\
         }} }} }}\n"
    ))
}

fn is_root() -> Result<bool> {
    let mut id = Command::new("id");
    Ok(crate::command::output(id.arg("-u"))?.trim() == "0")
}
