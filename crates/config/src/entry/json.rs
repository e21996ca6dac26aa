//! The JSON form of an entry, built so that it cannot fail.
//!
//! Used where an entry is written to a file, shown, or part of a key. The types derive `Serialize` for the schema; a test
//! compares both forms. It does not read entries (`entry::parse` does).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::types::{
    ElicitationAnswerer, Entry, IdeTransport, InheritEnv, OAuth, OAuthGrant, ProtocolEra,
    QuestionSettings, RemoteTransport, ServerSharing, SignInOwner, StartPolicy, StdioTransport,
    TlsFiles, ToolFilter, Transport,
};

/// An object under construction. Members without a value are left out.
struct ObjectBuilder(Map<String, Value>);

// === impl ObjectBuilder ===

impl ObjectBuilder {
    fn new() -> Self {
        Self(Map::new())
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    fn set_some<T: Into<Value>>(self, key: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    fn set_text(self, key: &str, text: Option<&String>) -> Self {
        self.set_some(key, text.map(String::as_str))
    }

    fn set_list(self, key: &str, list: &[String]) -> Self {
        self.set_some(key, (!list.is_empty()).then_some(list))
    }

    fn set_map(self, key: &str, map: &BTreeMap<String, String>) -> Self {
        let members = || map.iter().map(|(name, text)| (&**name, &**text)).collect::<Value>();
        self.set_some(key, (!map.is_empty()).then(members))
    }

    fn set_true(self, key: &str, flag: bool) -> Self {
        self.set_some(key, flag.then_some(true))
    }

    fn finish(self) -> Value {
        Value::Object(self.0)
    }
}

// === impl Entry ===

impl Entry {
    /// The entry as JSON, for a file.
    pub fn to_json(&self) -> Value {
        let Self { transport, timeout, always_load, disabled, tools, .. } = self;
        let Self { share, share_principals, sign_in, era, questions, start, .. } = self;
        let share = match share {
            ServerSharing::Auto => None,
            ServerSharing::Always => Some("always"),
            ServerSharing::Never => Some("never"),
        };
        let sign_in = match sign_in {
            SignInOwner::EachPrincipal => None,
            SignInOwner::Shared => Some("shared"),
        };
        let era = era.map(|era| match era {
            ProtocolEra::Legacy => "legacy",
            ProtocolEra::Modern => "modern",
        });
        let start = start.map(|start| match start {
            StartPolicy::Lazy => "lazy",
            StartPolicy::Eager => "eager",
        });
        members(transport)
            .set_some("timeout", *timeout)
            .set_true("alwaysLoad", *always_load)
            .set_true("disabled", *disabled)
            .set_some("tools", (!tools.is_empty()).then(|| tool_filter(tools)))
            .set_some("share", share)
            .set_true("sharePrincipals", *share_principals)
            .set_some("signIn", sign_in)
            .set_some("era", era)
            .set_some("questions", questions.map(question_settings))
            .set_some("start", start)
            .finish()
    }
}

impl Transport {
    /// The members of the entry that say how the server is reached.
    pub fn to_json(&self) -> Value {
        members(self).finish()
    }
}

impl StdioTransport {
    pub(super) fn to_json(&self) -> Value {
        stdio(ObjectBuilder::new(), self).finish()
    }
}

impl RemoteTransport {
    pub(super) fn to_json(&self) -> Value {
        remote(ObjectBuilder::new(), self).finish()
    }
}

impl IdeTransport {
    pub(super) fn to_json(&self) -> Value {
        ide(ObjectBuilder::new(), self).finish()
    }
}

impl OAuth {
    /// The settings as JSON, with the secret as it is written.
    pub fn to_json(&self) -> Value {
        let Self { client_id, client_secret, client_metadata_url, callback_port, .. } = self;
        let Self { auth_server_metadata_url, scopes, grant, private_key_file, .. } = self;
        let Self { signing_algorithm, assertion_file, dpop, xaa, .. } = self;
        let grant = grant.map(|grant| match grant {
            OAuthGrant::AuthorizationCode => "authorization_code",
            OAuthGrant::ClientCredentials => "client_credentials",
            OAuthGrant::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
        });
        ObjectBuilder::new()
            .set_text("clientId", client_id.as_ref())
            .set_text("clientSecret", client_secret.as_ref())
            .set_text("clientMetadataUrl", client_metadata_url.as_ref())
            .set_some("callbackPort", *callback_port)
            .set_text("authServerMetadataUrl", auth_server_metadata_url.as_ref())
            .set_list("scopes", scopes)
            .set_some("grant", grant)
            .set_text("privateKeyFile", private_key_file.as_ref())
            .set_text("signingAlgorithm", signing_algorithm.as_ref())
            .set_text("assertionFile", assertion_file.as_ref())
            .set_some("dpop", *dpop)
            .set_some("xaa", *xaa)
            .finish()
    }
}

fn members(transport: &Transport) -> ObjectBuilder {
    let object = ObjectBuilder::new().set("type", transport.name());
    match transport {
        Transport::Stdio(process) => stdio(object, process),
        Transport::Http(url) | Transport::Sse(url) | Transport::Ws(url) => remote(object, url),
        Transport::SseIde(editor) | Transport::WsIde(editor) => ide(object, editor),
        Transport::Sdk => object,
    }
}

fn stdio(object: ObjectBuilder, stdio: &StdioTransport) -> ObjectBuilder {
    let StdioTransport { command, args, env, cwd, env_file, inherit_env } = stdio;
    let inherit_env = match inherit_env {
        InheritEnv::All(all) => all.then(|| Value::from(true)),
        InheritEnv::Names(names) => (!names.is_empty()).then(|| Value::from(&**names)),
    };
    object
        .set("command", &**command)
        .set_list("args", args)
        .set_map("env", env)
        .set_text("cwd", cwd.as_ref())
        .set_text("envFile", env_file.as_ref())
        .set_some("inheritEnv", inherit_env)
}

fn remote(object: ObjectBuilder, remote: &RemoteTransport) -> ObjectBuilder {
    let RemoteTransport { url, headers, headers_helper, oauth, tls } = remote;
    object
        .set("url", &**url)
        .set_map("headers", headers)
        .set_text("headersHelper", headers_helper.as_ref())
        .set_some("oauth", oauth.as_ref().map(OAuth::to_json))
        .set_some("tls", tls.as_ref().map(certificates))
}

fn certificates(tls: &TlsFiles) -> Value {
    let TlsFiles { cert_file, key_file, ca_file } = tls;
    ObjectBuilder::new()
        .set_text("certFile", cert_file.as_ref())
        .set_text("keyFile", key_file.as_ref())
        .set_text("caFile", ca_file.as_ref())
        .finish()
}

fn ide(object: ObjectBuilder, ide: &IdeTransport) -> ObjectBuilder {
    let IdeTransport { url, ide_name, auth_token } = ide;
    object
        .set("url", &**url)
        .set_text("ideName", ide_name.as_ref())
        .set_text("authToken", auth_token.as_ref())
}

fn tool_filter(filter: &ToolFilter) -> Value {
    let ToolFilter { allow, deny } = filter;
    ObjectBuilder::new().set_some("allow", allow.as_deref()).set_list("deny", deny).finish()
}

fn question_settings(settings: QuestionSettings) -> Value {
    let elicitation = settings.elicitation.map(|answerer| match answerer {
        ElicitationAnswerer::Client => "client",
        ElicitationAnswerer::Queue => "queue",
    });
    ObjectBuilder::new().set_some("elicitation", elicitation).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &Entry) {
        let expected = serde_json::to_string(entry).unwrap();
        assert_eq!(entry.to_json().to_string(), expected);
        let expected = serde_json::to_string(&entry.transport).unwrap();
        assert_eq!(entry.transport.to_json().to_string(), expected);
    }

    /// The names of cached catalogs and of stored sign-ins are digests of these texts, so their bytes stay the same.
    #[test]
    fn both_forms_are_the_same() {
        let text = |text: &str| Some(text.to_owned());
        let map = || [("A".to_owned(), "\"1\"".to_owned())].into();
        let stdio = StdioTransport {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned()],
            env: map(),
            cwd: text("/a"),
            env_file: text(".env"),
            inherit_env: InheritEnv::Names(vec!["B*".to_owned()]),
        };
        let oauth = |grant| OAuth {
            client_id: text("id"),
            client_secret: text("${secret:a}"),
            client_metadata_url: text("https://a"),
            callback_port: Some(1),
            auth_server_metadata_url: text("https://b"),
            scopes: vec!["s".to_owned()],
            grant: Some(grant),
            private_key_file: text("k"),
            signing_algorithm: text("ES256"),
            assertion_file: text("f"),
            dpop: Some(false),
            xaa: Some(true),
        };
        let tls = TlsFiles { cert_file: text("c"), key_file: text("k"), ca_file: text("a") };
        let remote = |grant| RemoteTransport {
            url: "https://x".to_owned(),
            headers: map(),
            headers_helper: text("h"),
            oauth: Some(oauth(grant)),
            tls: Some(tls.clone()),
        };
        let ide =
            IdeTransport { url: "ws://e".to_owned(), ide_name: text("E"), auth_token: text("t") };
        let all = InheritEnv::All(true);
        for transport in [
            Transport::Stdio(stdio),
            Transport::Stdio(StdioTransport { inherit_env: all, ..StdioTransport::default() }),
            Transport::Http(remote(OAuthGrant::AuthorizationCode)),
            Transport::Sse(remote(OAuthGrant::ClientCredentials)),
            Transport::Ws(remote(OAuthGrant::JwtBearer)),
            Transport::Http(RemoteTransport {
                oauth: Some(OAuth::default()),
                tls: Some(TlsFiles::default()),
                ..RemoteTransport::default()
            }),
            Transport::SseIde(ide.clone()),
            Transport::WsIde(IdeTransport { ide_name: None, auth_token: None, ..ide }),
            Transport::Sdk,
        ] {
            check(&Entry::new(transport));
        }
        for (share, sign_in, era, start, elicitation) in [
            (
                ServerSharing::Always,
                SignInOwner::Shared,
                ProtocolEra::Modern,
                StartPolicy::Lazy,
                Some(ElicitationAnswerer::Client),
            ),
            (
                ServerSharing::Never,
                SignInOwner::EachPrincipal,
                ProtocolEra::Legacy,
                StartPolicy::Eager,
                Some(ElicitationAnswerer::Queue),
            ),
            (
                ServerSharing::Auto,
                SignInOwner::EachPrincipal,
                ProtocolEra::Legacy,
                StartPolicy::Eager,
                None,
            ),
        ] {
            check(&Entry {
                transport: Transport::Sdk,
                timeout: Some(2000),
                always_load: true,
                disabled: true,
                tools: ToolFilter { allow: Some(Vec::new()), deny: vec!["d*".to_owned()] },
                share,
                share_principals: true,
                sign_in,
                era: Some(era),
                questions: Some(QuestionSettings { elicitation }),
                start: Some(start),
            });
        }
    }
}
