//! Tests of a server that `npx` downloads from a registry whose certificate only a private authority vouches for.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use switchboard_testkit::http::{Authority, ClientCertificate, Reply, Request, Scripted};

use crate::Story;

/// A server of a few lines, without dependencies.
const SERVER: &str = r"#!/usr/bin/env node
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const results = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'company', version: '1.0.0' },
    }),
    'tools/list': () => ({ tools: [{ name: 'hello', inputSchema: { type: 'object' } }] }),
    ping: () => ({}),
  };
  if (id === undefined) return;
  const error = { code: -32601, message: 'unknown method' };
  const answer = results[method] ? { result: results[method]() } : { error };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
});
";

/// The package as the registry serves it.
fn package(folder: &Path) -> Vec<u8> {
    let inside = folder.join("package");
    fs::create_dir(&inside).unwrap();
    let manifest = r#"{"name": "company-server", "version": "1.0.0", "bin": "server.js"}"#;
    fs::write(inside.join("package.json"), manifest).unwrap();
    fs::write(inside.join("server.js"), SERVER).unwrap();
    let packed = Command::new("tar").args(["-czf", "-", "-C"]).arg(folder).arg("package").output();
    packed.unwrap().stdout
}

fn reply(request: &Request, package: &[u8]) -> Reply {
    let host = request.header("host").unwrap();
    if request.path.contains(".tgz") {
        return Reply::text(200, "application/octet-stream", package);
    }
    if request.path != "/company-server" {
        return Reply::json(404, "{}");
    }
    let tarball = format!("https://{host}/company-server/-/company-server-1.0.0.tgz");
    let about = serde_json::json!({
        "name": "company-server",
        "dist-tags": { "latest": "1.0.0" },
        "versions": { "1.0.0": {
            "name": "company-server", "version": "1.0.0", "bin": { "company-server": "server.js" },
            "dist": { "tarball": tarball },
        } },
    });
    Reply::json(200, about.to_string())
}

/// A home behind the company's registry; npm reads no other file than those in it.
fn home(registry: &Scripted) -> Story {
    let mut story = Story::new();
    for (name, file) in [("globalconfig", "global.npmrc"), ("userconfig", "user.npmrc")] {
        story.write(file, "");
        let file = story.path(file).display().to_string();
        story.set(&format!("npm_config_{name}"), &file);
    }
    story.set("npm_config_registry", &registry.url("/"));
    story.set("npm_config_update_notifier", "false");
    story.set("PATH", &std::env::var("PATH").unwrap());
    story.set("MCP_TIMEOUT", "180000");
    story.quietly(&["add", "company", "npx", "-y", "company-server"]);
    story
}

#[test]
fn a_server_behind_a_company_certificate_works_or_says_why() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let package = package(folder.path());
    let registry = runtime.block_on(Scripted::start_tls(
        authority.server(ClientCertificate::NotAsked, &[]),
        move |request| {
            let reply = reply(&request, &package);
            async { reply }
        },
    ));

    let mut story = home(&registry);
    let began = Instant::now();
    let refused = story.home.shown(&story.quietly(&["list"]));
    // npm alone waits 10 and then 60 seconds before it tries again.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert!(refused.contains("✘ company"), "{refused}");
    assert!(refused.contains("npm error code UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "{refused}");
    let hint = "hint: a certificate is not trusted, perhaps that of your company; name its file in \
                `NODE_EXTRA_CA_CERTS`, in your environment or in `env` of the entry";
    assert!(refused.contains(hint), "{refused}");

    let certificates = folder.path().join("company.pem");
    fs::write(&certificates, authority.ca_pem()).unwrap();
    story.set("NODE_EXTRA_CA_CERTS", certificates.to_str().unwrap());
    let tools = story.home.shown(&story.quietly(&["tools"]));
    assert!(tools.contains("mcp__company__hello"), "{tools}");
    let received = story.home.shown(&story.quietly(&["get", "company"]));
    assert!(received.contains(&format!("NODE_EXTRA_CA_CERTS={}  yours", certificates.display())));
}
