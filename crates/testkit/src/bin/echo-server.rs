//! The smallest server: one tool, which echoes its argument.
//!
//! Used by tests and benchmarks of `cli`, `core` and `hub`.

use switchboard_testkit::lines::{Said, serve};

const TOOLS: &str = r#"[{"name":"echo","description":"Says what it was told.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]"#;

fn main() {
    serve(
        TOOLS,
        |call| {
            let said = call.arguments.get("text").ok().flatten();
            let said = said.map_or_else(|| "\"\"".to_owned(), |said| said.to_string());
            Said::Result(format!(r#"{{"content":[{{"type":"text","text":{said}}}]}}"#))
        },
        |_| {},
    );
}
