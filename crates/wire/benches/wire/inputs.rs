//! The benchmark's messages: the most frequent and the most expensive ones of a gateway.

use std::fmt::Write;

use bytes::Bytes;

/// One message as a peer sends it.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) bytes: Bytes,
    pub(crate) from: From,
}

/// The sender. A typed decoder has a type for each direction.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum From {
    Client,
    Server,
}

pub(crate) fn all() -> [Input; 4] {
    [
        input("small tools/call", From::Client, small_call()),
        input("9 KB structured result", From::Server, structured()),
        input("1 MiB text result", From::Server, text()),
        input("1,000-tool list", From::Server, tools()),
    ]
}

fn input(name: &'static str, from: From, text: String) -> Input {
    Input { name, bytes: text.into(), from }
}

fn small_call() -> String {
    concat!(
        r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"get_weather","#,
        r#""arguments":{"city":"Zürich","days":3},"_meta":{"progressToken":7}}}"#
    )
    .to_owned()
}

/// Rows of a table, as a database or an issue tracker returns them.
fn structured() -> String {
    let mut rows = String::new();
    for row in 0..50 {
        let _ = write!(
            rows,
            concat!(
                r#"{}{{"id":{},"title":"Issue number {}","state":"open","score":{}.25,"#,
                r#""labels":["bug","help wanted"],"author":{{"login":"user{}","admin":false}},"#,
                r#""closedAt":null,"comments":{}}}"#
            ),
            if row == 0 { "" } else { "," },
            1000 + row,
            row,
            row * 7,
            row % 9,
            row * 3
        );
    }
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":42,"result":{{"content":[{{"type":"text","text":"50 rows"}}],"#,
            r#""structuredContent":{{"rows":[{}],"total":50}},"isError":false}}}}"#
        ),
        rows
    )
}

/// A file of source code: lines of ordinary length, so an escape every 60 bytes or so.
fn text() -> String {
    const LINE: &str = r#"    let answer = compute(first, second).expect(\"a number\");\n"#;
    let lines = LINE.repeat((1 << 20) / LINE.len());
    format!(
        r#"{{"jsonrpc":"2.0","id":42,"result":{{"content":[{{"type":"text","text":"{lines}"}}],"isError":false}}}}"#
    )
}

fn tools() -> String {
    let mut tools = String::new();
    for tool in 0..1000 {
        let _ = write!(
            tools,
            concat!(
                r#"{}{{"name":"tool_{}","description":"Does thing number {} and says what came of it.","#,
                r#""inputSchema":{{"type":"object","properties":{{"path":{{"type":"string","#,
                r#""description":"Where to look"}},"limit":{{"type":"integer","minimum":1}}}},"#,
                r#""required":["path"]}}}}"#
            ),
            if tool == 0 { "" } else { "," },
            tool,
            tool
        );
    }
    format!(r#"{{"jsonrpc":"2.0","id":42,"result":{{"tools":[{tools}]}}}}"#)
}
