//! One suite over the three transports, in every version that each transport carries.

use std::{future::Future, time::Duration};

use futures_util::future::join_all;
use switchboard_gateway::face::FaceOptions;
use switchboard_wire::{
    Era, Version,
    client::{
        CallRequest, Client, ClientOptions, ExchangeEvent, HttpTarget, InboxEvent, ListKind,
        ListTruncation, RootFolder, ServerInbox, ServerTarget, VersionNegotiation,
    },
    envelope::code,
    http::{EndpointOptions, HttpPool, HttpPoolOptions, ProxySettings, TlsOptions},
    json::Raw,
    ws::WsOptions,
};

use super::{Served, soon};

/// Longer than any feature takes in one version, unless it hangs.
const BOUND: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Sse,
    WebSocket,
}

/// A client and its faces.
pub(crate) struct Bench {
    pub(crate) client: Client,
    pub(crate) inbox: ServerInbox,
    pub(crate) served: Served,
}

macro_rules! over_all {
    ($($feature:ident),* $(,)?) => {
        over!(http Http: $($feature)*);
        over!(sse Sse: $($feature)*);
        over!(web_socket WebSocket: $($feature)*);
    };
}

macro_rules! over {
    ($module:ident $transport:ident: $($feature:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $feature() {
                    super::each(super::Transport::$transport, super::$feature).await;
                }
            )*
        }
    };
}

over_all!(
    the_server_is_known,
    arguments_and_results_survive_byte_for_byte,
    progress_comes_in_order_and_before_the_result,
    logs_come_from_the_level_asked_for,
    errors_have_the_codes_of_their_era,
    two_hundred_calls_at_once,
    a_question_is_answered,
    several_questions_at_once,
    questions_of_two_calls_at_once,
    several_rounds,
    dropping_a_call_cancels_it,
    lists_that_change_are_heard_of,
    resources_that_change_are_heard_of,
    pages_are_put_together,
    a_mebibyte_comes_whole,
    closing_ends_the_session,
);

// === impl Transport ===

impl Transport {
    fn greetings(self) -> Vec<VersionNegotiation> {
        let sensible = |version: &Version| match self {
            Self::WebSocket => true,
            Self::Sse => version.era() == Era::Legacy,
            Self::Http => *version != Version::V2024_11_05,
        };
        let versions = Version::ALL.into_iter().filter(sensible);
        versions.map(VersionNegotiation::Only).chain([VersionNegotiation::Probe]).collect()
    }

    pub(crate) fn target(self, served: &Served, tls: &TlsOptions) -> ServerTarget {
        let pool = HttpPool::new(&HttpPoolOptions {
            tls: tls.clone(),
            proxies: ProxySettings::Off,
            ..HttpPoolOptions::default()
        })
        .unwrap();
        let encrypted = !tls.extra_ca_pem.is_empty();
        let url = |path: &str| {
            let url = served.url(path);
            if encrypted { url.replacen("http", "https", 1) } else { url }
        };
        let http = |path: &str, pool| HttpTarget {
            url: url(path).parse().unwrap(),
            pool,
            options: EndpointOptions::default(),
        };
        match self {
            Self::Http => ServerTarget::Http(http("/mcp", pool)),
            Self::Sse => ServerTarget::Sse(http("/sse", pool)),
            Self::WebSocket => ServerTarget::WebSocket {
                url: url("/ws").replacen("http", "ws", 1).parse().unwrap(),
                pool,
                options: Box::new(WsOptions::default()),
            },
        }
    }
}

async fn each<F, R>(transport: Transport, feature: F)
where
    F: Fn(Bench) -> R,
    R: Future<Output = ()> + Send + 'static,
{
    let mut failed = Vec::new();
    for greeting in transport.greetings() {
        let bench = connect(transport, greeting).await;
        match tokio::time::timeout(BOUND, tokio::spawn(feature(bench))).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failed.push(format!("{greeting:?}: {error}")),
            Err(_) => failed.push(format!("{greeting:?}: it hangs")),
        }
    }
    assert!(failed.is_empty(), "{transport:?}: {failed:#?}");
}

pub(crate) fn no_platform() -> TlsOptions {
    TlsOptions { platform_roots: false, ..TlsOptions::default() }
}

pub(crate) async fn connect(transport: Transport, greeting: VersionNegotiation) -> Bench {
    let served = Served::start(FaceOptions::local()).await;
    connect_to(served, transport, greeting).await
}

pub(crate) async fn connect_to(
    served: Served,
    transport: Transport,
    greeting: VersionNegotiation,
) -> Bench {
    let target = transport.target(&served, &no_platform());
    let (client, inbox) = soon(Client::connect(target, options(greeting))).await.unwrap();
    Bench { client, inbox, served }
}

pub(crate) fn options(greeting: VersionNegotiation) -> ClientOptions {
    let mut options = ClientOptions::new("suite", "1");
    options.capabilities = raw(r#"{"elicitation":{},"sampling":{}}"#);
    options.roots = Some(vec![RootFolder { uri: "file:///work".into(), name: None }]);
    options.greeting = greeting;
    options.reopen_after = Duration::from_millis(10);
    options
}

pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

pub(crate) fn member(value: &Raw, key: &str) -> String {
    value.get(key).unwrap().map_or_else(|| "(missing)".to_owned(), |value| value.to_string())
}

// === impl Bench ===

impl Bench {
    pub(crate) async fn tool(&self, name: &str, arguments: &str) -> Raw {
        self.client.call(CallRequest::call_tool(name, &raw(arguments))).result().await.unwrap()
    }

    fn era(&self) -> Era {
        self.client.server_facts().era()
    }

    /// Announces a change until the client hears of it; a modern client does not say when it has
    /// begun to listen.
    async fn announced(&mut self, what: &str) -> InboxEvent {
        let client = self.client.clone();
        let call = CallRequest::call_tool("announce", &raw(&format!(r#"{{"what":"{what}"}}"#)));
        let announcing = async {
            loop {
                client.call(call.clone()).result().await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            heard = self.inbox.next() => heard.unwrap(),
            () = announcing => unreachable!(),
        }
    }
}

// --- features

async fn the_server_is_known(bench: Bench) {
    let server = bench.client.server_facts();
    assert_eq!(server.name().as_deref(), Some("fixture"));
    assert_eq!(server.instructions.as_deref(), Some("be kind"));
    let openings = bench.served.openings();
    assert_eq!(openings.len(), 1, "{openings:?}");
    assert!(openings[0].principal.is_local());
}

async fn arguments_and_results_survive_byte_for_byte(bench: Bench) {
    let odd = r#"{ "z" : 1.0, "a":[1e400,"\u00e9",-0], "n":18446744073709551617, "é":"\/" }"#;
    let result = bench.tool("echo", odd).await;
    assert_eq!(member(&result, "echo"), odd);
    let routed = bench.tool("routed", r#"{"region":"Zürich"}"#).await;
    assert_eq!(member(&routed, "echo"), r#"{"region":"Zürich"}"#);
}

async fn progress_comes_in_order_and_before_the_result(bench: Bench) {
    let call = CallRequest::call_tool("count", &raw(r#"{"to":200}"#)).with_progress();
    let mut exchange = bench.client.call(call);
    for step in 0..200 {
        let ExchangeEvent::Progress(params) = exchange.next().await.unwrap() else {
            panic!("step {step} is missing")
        };
        assert_eq!(member(&params, "progress"), step.to_string());
    }
    assert!(matches!(exchange.next().await, Ok(ExchangeEvent::Done(_))));
}

async fn logs_come_from_the_level_asked_for(mut bench: Bench) {
    bench.client.set_log_level("warning").await.unwrap();
    let mut exchange = bench.client.call(CallRequest::call_tool("log", &raw("{}")));
    let mut heard = Vec::new();
    loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::Log(params) => heard.push(member(&params, "level")),
            ExchangeEvent::Done(_) => break,
            other => panic!("{other:?}"),
        }
    }
    while bench.era() == Era::Legacy && heard.len() < 2 {
        match bench.inbox.next().await.unwrap() {
            InboxEvent::Log(params) => heard.push(member(&params, "level")),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard, [r#""warning""#, r#""error""#]);
}

async fn errors_have_the_codes_of_their_era(bench: Bench) {
    let not_found = match bench.era() {
        Era::Legacy => code::RESOURCE_NOT_FOUND,
        Era::Modern => code::INVALID_PARAMS,
    };
    for (call, expected) in [
        (CallRequest::read_resource("x:y"), not_found),
        (CallRequest::call_tool("none", &raw("{}")), code::INVALID_PARAMS),
        (CallRequest::call_tool("fail", &raw("{}")), code::INTERNAL_ERROR),
    ] {
        let error = bench.client.call(call).result().await.unwrap_err();
        assert_eq!(error.code(), Some(expected), "{error:?}");
    }
    let unknown = bench.client.request("x/y", None).await.unwrap_err();
    assert_eq!(unknown.code(), Some(code::METHOD_NOT_FOUND));
}

async fn two_hundred_calls_at_once(bench: Bench) {
    join_all((0..200).map(|n| {
        let bench = &bench;
        async move {
            let result = bench.tool("echo", &n.to_string()).await;
            assert_eq!(member(&result, "echo"), n.to_string());
        }
    }))
    .await;
}

async fn a_question_is_answered(bench: Bench) {
    let said = ask(&bench, "ask", r#"{"action":"accept","n":1e400}"#).await;
    assert_eq!(said, r#"{"who":{"action":"accept","n":1e400}}"#);
}

async fn several_questions_at_once(bench: Bench) {
    let said = ask(&bench, "ask_all", r#"{"roots":[{"uri":"file:///work"}]}"#).await;
    let roots = r#"{"roots":[{"uri":"file:///work"}]}"#;
    assert_eq!(said, format!(r#"{{"what":{roots},"where":{roots},"who":{roots}}}"#));
}

/// On a call's own stream, a question belongs to that call.
async fn questions_of_two_calls_at_once(bench: Bench) {
    if bench.era() == Era::Legacy && bench.served.openings()[0].transport != "http" {
        return;
    }
    let (one, other) = tokio::join!(ask(&bench, "ask", "1"), ask(&bench, "ask", "2"));
    assert_eq!([one, other], [r#"{"who":1}"#, r#"{"who":2}"#]);
}

async fn several_rounds(bench: Bench) {
    assert_eq!(ask(&bench, "ask_twice", "7").await, r#"{"second":7}"#);
}

/// Calls a tool that asks, answers all questions, and returns the text of the result.
async fn ask(bench: &Bench, tool: &str, answer: &str) -> String {
    let mut exchange = bench.client.call(CallRequest::call_tool(tool, &raw("{}")));
    loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::NeedsInput(questions) => {
                let answers = questions.iter().map(|question| question.answer(raw(answer)));
                exchange.answer(answers.collect());
            }
            ExchangeEvent::Done(result) => return member(&result, "said"),
            other => panic!("{other:?}"),
        }
    }
}

async fn dropping_a_call_cancels_it(bench: Bench) {
    let mut exchange = bench.client.call(CallRequest::call_tool("hang", &raw("{}")));
    // Over SSE the client may not know yet that its message was accepted.
    tokio::select! {
        happened = exchange.next() => panic!("{happened:?}"),
        _ = bench.tool("await_hanging", "{}") => {}
    }
    drop(exchange);
    bench.tool("await_dropped", "{}").await;
}

async fn lists_that_change_are_heard_of(mut bench: Bench) {
    for (what, list) in [
        ("tools", ListKind::Tools),
        ("prompts", ListKind::Prompts),
        ("resources", ListKind::Resources),
    ] {
        loop {
            match bench.announced(what).await {
                InboxEvent::ListChanged(heard) if heard == list => break,
                InboxEvent::ListChanged(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

async fn resources_that_change_are_heard_of(mut bench: Bench) {
    bench.client.subscribe("a:b").await.unwrap();
    bench.tool("announce", r#"{"what":"c:d"}"#).await;
    let heard = bench.announced("a:b").await;
    assert!(matches!(&heard, InboxEvent::ResourceUpdated { uri, .. } if uri == "a:b"), "{heard:?}");
}

async fn pages_are_put_together(bench: Bench) {
    let prompts = bench.client.list(ListKind::Prompts).await.unwrap();
    assert_eq!(prompts.items.len(), 4);
    let circle = bench.client.list(ListKind::Resources).await.unwrap();
    assert_eq!(circle.cut_short, Some(ListTruncation::Circle));
}

async fn a_mebibyte_comes_whole(bench: Bench) {
    let call = CallRequest::call_tool("big", &raw(r#"{"bytes":1048576}"#)).with_progress();
    let result = bench.client.call(call).result().await.unwrap();
    assert_eq!(member(&result, "text").len(), 1_048_578);
}

async fn closing_ends_the_session(bench: Bench) {
    let transport = bench.served.openings()[0].transport;
    bench.tool("echo", "{}").await;
    bench.client.close().await;
    bench.served.until(&format!(r#"sessions{{transport="{transport}"}}"#), 0).await;
    bench.served.close().await;
}
