//! Era detection and handshake of a client session.
//!
//! Used by `connect`; `exchange_driver`, `request` and `listen` renew an expired session with it. A
//! modern server answers `server/discover`. A legacy server answers with an error, with an empty
//! object, not at all, or exits. So the probe goes first; after a few seconds of silence
//! `initialize` follows on that channel, and the first useful answer decides. It does not open the
//! transport (`connect`).

use std::sync::Arc;

use super::{
    channel::ServerChannel,
    headers,
    options::VersionNegotiation,
    request::RequestExtras,
    request_stream::{OpenOutcome, OutgoingRequest},
    server_facts::{ServerFacts, newest_version},
    session::{ClientSession, SessionSettings},
};
use crate::{
    Era, Error, Version,
    envelope::{Id, Notification, Request, Response, ResponseOutcome, RpcError, code},
    json::{Raw, quote},
    meta::{self, method},
};

/// The meaning of the answer to `server/discover`.
enum ProbeOutcome {
    Modern(Box<ServerFacts>),
    Legacy,
    /// The server refused our version, but offers another modern version that we support.
    Again {
        version: Version,
        offered: Vec<String>,
    },
}

impl ClientSession {
    /// Greets the server. `known` is the version of the last connection to it.
    pub(crate) async fn greet(self: &Arc<Self>, known: Option<Version>) -> Result<(), Error> {
        match (self.options.greeting, known.map(Version::era)) {
            (VersionNegotiation::Only(version), _) if version.era() == Era::Legacy => {
                self.initialize(version).await
            }
            (VersionNegotiation::Only(_), _) => match self.discover().await? {
                Era::Modern => Ok(()),
                Era::Legacy => Err(Error::NoCommonVersion { offered: Vec::new() }),
            },
            // The era of the last connection is tried first. If it fails, the other era is probed.
            (VersionNegotiation::Probe, Some(Era::Legacy)) => {
                match self.initialize(Version::LATEST_LEGACY).await {
                    Err(Error::Rpc(_)) => self.probe().await,
                    done => done,
                }
            }
            (VersionNegotiation::Probe, _) => self.probe().await,
        }
    }

    async fn probe(self: &Arc<Self>) -> Result<(), Error> {
        let mut discovering = Box::pin(self.discover());
        let patience = tokio::time::sleep(self.options.probe_patience);
        let era = tokio::select! {
            era = &mut discovering => era?,
            () = patience, if !self.channel.is_http() => {
                return self.race(discovering).await;
            }
        };
        match era {
            Era::Modern => Ok(()),
            Era::Legacy => self.initialize(Version::LATEST_LEGACY).await,
        }
    }

    /// Sends `initialize` too, because the probe has no answer yet. If both answers arrive
    /// together, the modern one counts; if one greeting is refused, the other is still awaited.
    async fn race(
        self: &Arc<Self>,
        mut discovering: std::pin::Pin<Box<impl Future<Output = Result<Era, Error>>>>,
    ) -> Result<(), Error> {
        let mut shaking = Box::pin(self.initialize(Version::LATEST_LEGACY));
        tokio::select! {
            biased;
            era = &mut discovering => match era? {
                Era::Modern => Ok(()),
                Era::Legacy => shaking.await,
            },
            done = &mut shaking => match done {
                Err(refused @ Error::Rpc(_)) => match discovering.await? {
                    Era::Modern => Ok(()),
                    Era::Legacy => Err(refused),
                },
                done => done,
            },
        }
    }

    /// Sends `server/discover` and returns the era. Stores the facts of a modern server.
    async fn discover(self: &Arc<Self>) -> Result<Era, Error> {
        let mut judged = self.ask_discover(Version::LATEST).await?;
        // One refusal proves nothing: another replica of the server may have sent it.
        if let ProbeOutcome::Again { version, .. } = judged {
            judged = self.ask_discover(version).await?;
        }
        match judged {
            ProbeOutcome::Modern(facts) => {
                self.set_facts(*facts);
                Ok(Era::Modern)
            }
            ProbeOutcome::Legacy => Ok(Era::Legacy),
            ProbeOutcome::Again { offered, .. } => Err(Error::NoCommonVersion { offered }),
        }
    }

    async fn ask_discover(self: &Arc<Self>, version: Version) -> Result<ProbeOutcome, Error> {
        let answer = self.exchange(self.discover_request(version)).await;
        match answer {
            Ok(Some(response)) => judge(&response),
            Ok(None) => Ok(ProbeOutcome::Legacy),
            Err(error) => judge_error(error),
        }
    }

    fn discover_request(&self, version: Version) -> OutgoingRequest {
        let id = self.next_id();
        let (info, capabilities) = (self.client_info_json(), self.own_capabilities());
        let params = format!(
            r#"{{"_meta":{{"{}":"{version}","{}":{info},"{}":{capabilities}}}}}"#,
            meta::PROTOCOL_VERSION,
            meta::CLIENT_INFO,
            meta::CLIENT_CAPABILITIES,
        );
        let request = Request::new(
            &Id::number(id),
            method::DISCOVER,
            Some(&Raw::from_trusted(params.into())),
        );
        OutgoingRequest {
            id,
            method: method::DISCOVER.into(),
            text: request.text().clone(),
            headers: headers::standard_headers(version, method::DISCOVER, None),
            can_ask: false,
            cancellable: false,
        }
    }

    /// The handshake of the legacy era.
    pub(crate) async fn initialize(self: &Arc<Self>, version: Version) -> Result<(), Error> {
        let facts = match self.try_initialize(version).await {
            // Some servers name their versions in an error instead of offering one.
            Err(Error::Rpc(error)) => match offered_legacy(&error, version) {
                Some(other) => self.try_initialize(other).await?,
                None => return Err(Error::Rpc(error)),
            },
            result => result?,
        };
        self.set_facts(facts);
        self.send_notification(Notification::new(method::INITIALIZED, None)).await
    }

    async fn try_initialize(self: &Arc<Self>, version: Version) -> Result<ServerFacts, Error> {
        let id = self.next_id();
        let (info, capabilities) = (self.client_info_json(), self.own_capabilities());
        let params = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{info}}}"#
        );
        let request = Request::new(
            &Id::number(id),
            method::INITIALIZE,
            Some(&Raw::from_trusted(params.into())),
        );
        let out = OutgoingRequest {
            id,
            method: method::INITIALIZE.into(),
            text: request.text().clone(),
            headers: http::HeaderMap::new(),
            can_ask: false,
            cancellable: false, // The protocol forbids cancelling it.
        };
        let response = self.exchange(out).await?.ok_or(Error::Closed)?;
        match response.outcome() {
            ResponseOutcome::Result(result) => ServerFacts::from_initialize(&result),
            ResponseOutcome::Error(error) => Err(Error::Rpc(error)),
        }
    }

    /// Starts a new legacy session in place of an expired one, once for all calls that noticed, and
    /// repeats its subscriptions and log level.
    pub(crate) async fn renew(self: &Arc<Self>, expired: u64) -> Result<(), Error> {
        let ServerChannel::Http(http) = &self.channel else {
            return Err(Error::Closed);
        };
        let _turn = http.renewing.lock().await;
        if http.generation() != expired {
            return Ok(());
        }
        let version = self.facts().map_or(Version::LATEST_LEGACY, |facts| facts.version);
        self.initialize(version).await?;
        http.next_generation();
        let wishes = self.settings().clone();
        self.restore_settings(wishes).await;
        Ok(())
    }

    async fn restore_settings(self: &Arc<Self>, wishes: SessionSettings) {
        let mut asked = Vec::new();
        if let Some(level) = &wishes.log_level {
            asked.push((method::SET_LEVEL, format!(r#"{{"level":{}}}"#, quote(level))));
        }
        for uri in &wishes.subscriptions {
            asked.push((method::RESOURCES_SUBSCRIBE, format!(r#"{{"uri":{}}}"#, quote(uri))));
        }
        for (asked, params) in asked {
            if let Err(error) = self.plain_request(asked, &Raw::from_trusted(params.into())).await {
                let error = format!("after a new session: {error}");
                tracing::warn!(method = asked, %error);
            }
        }
    }

    /// Sends a request that does not renew an expired session.
    async fn plain_request(self: &Arc<Self>, asked: &str, params: &Raw) -> Result<(), Error> {
        let out = self.prepare(asked, Some(params), &RequestExtras::default())?;
        match self.open(out).await? {
            OpenOutcome::Expired => Err(Error::Closed),
            OpenOutcome::Stream(mut stream) => loop {
                if let super::request_stream::StreamItem::Last(response) = stream.next().await? {
                    return match response.outcome() {
                        ResponseOutcome::Result(_) => Ok(()),
                        ResponseOutcome::Error(error) => Err(Error::Rpc(error)),
                    };
                }
            },
        }
    }
}

fn judge(response: &Response) -> Result<ProbeOutcome, Error> {
    match response.outcome() {
        ResponseOutcome::Result(result) => judge_result(&result),
        ResponseOutcome::Error(error) => judge_refusal(&error),
    }
}

fn judge_result(result: &Raw) -> Result<ProbeOutcome, Error> {
    // `{}` and similar results come from servers that answer every method.
    let Some(mut discovered) = ServerFacts::from_discover(result) else {
        return Ok(ProbeOutcome::Legacy);
    };
    match newest_version(&discovered.versions, Era::Modern) {
        Some(version) => {
            discovered.facts.version = version;
            Ok(ProbeOutcome::Modern(Box::new(discovered.facts)))
        }
        None => legacy_or_nothing(discovered.versions),
    }
}

/// Recognises errors that only modern servers send. Any other error counts as a legacy server's.
fn judge_refusal(error: &RpcError) -> Result<ProbeOutcome, Error> {
    let offered = offered_versions(error);
    if error.code != code::UNSUPPORTED_VERSION || offered.is_empty() {
        return Ok(ProbeOutcome::Legacy);
    }
    match newest_version(&offered, Era::Modern) {
        Some(version) => Ok(ProbeOutcome::Again { version, offered }),
        None => legacy_or_nothing(offered),
    }
}

fn legacy_or_nothing(offered: Vec<String>) -> Result<ProbeOutcome, Error> {
    match newest_version(&offered, Era::Legacy) {
        Some(_) => Ok(ProbeOutcome::Legacy),
        None => Err(Error::NoCommonVersion { offered }),
    }
}

/// Recognises failures of the probe after which `initialize` is still worth sending.
fn judge_error(error: Error) -> Result<ProbeOutcome, Error> {
    match error {
        Error::Status { status, .. } if status < 500 && status != 429 => Ok(ProbeOutcome::Legacy),
        Error::StreamLost { .. } | Error::Malformed(_) | Error::InvalidResult { .. } => {
            Ok(ProbeOutcome::Legacy)
        }
        other => Err(other),
    }
}

fn offered_versions(error: &RpcError) -> Vec<String> {
    let supported = error.data.as_ref().and_then(|data| data.get("supported").ok().flatten());
    supported.and_then(|list| list.decode().ok()).unwrap_or_default()
}

fn offered_legacy(error: &RpcError, refused: Version) -> Option<Version> {
    newest_version(&offered_versions(error), Era::Legacy).filter(|version| *version != refused)
}
