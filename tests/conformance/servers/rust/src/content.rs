//! Texts, media, prompts and resources: what the server says when it only answers.

use rmcp::ErrorData;
use rmcp::model::{
    AudioContent, ContentBlock, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage,
    Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Value, json};

const MEDIA: &str = include_str!("../../../media.json");
const SCHEMA_2020_12: &str = include_str!("../../../forms/schema-2020-12.json");

/// A file that every conformance server shares; it is part of the program.
pub(crate) fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("the file is JSON")
}

pub(crate) fn schema_2020_12() -> JsonObject {
    serde_json::from_str(SCHEMA_2020_12).expect("the file is an object")
}

fn media(kind: &str) -> String {
    parse(MEDIA)[kind].as_str().expect("the file has the recording and the image").to_owned()
}

pub(crate) fn image() -> ContentBlock {
    ContentBlock::image(media("png"), "image/png")
}

pub(crate) fn audio() -> ContentBlock {
    ContentBlock::Audio(AudioContent::new(media("wav"), "audio/wav"))
}

pub(crate) fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(text_contents(uri, mime_type, text))
}

fn text_contents(uri: &str, mime_type: &str, text: &str) -> ResourceContents {
    ResourceContents::TextResourceContents {
        uri: uri.into(),
        mime_type: Some(mime_type.into()),
        text: text.into(),
        meta: None,
    }
}

// === resources ===

pub(crate) fn resources() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, mime_type: &str| {
        let description = format!("The {name} resource");
        Resource::new(uri, name).with_description(description).with_mime_type(mime_type)
    };
    vec![
        resource("test://static-text", "static-text", "text/plain"),
        resource("test://static-binary", "static-binary", "image/png"),
        resource("test://watched-resource", "watched", "text/plain"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "template");
    vec![template.with_description("Data by id").with_mime_type("application/json")]
}

pub(crate) fn read(uri: &str) -> Result<ResourceContents, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    match (uri, id) {
        ("test://static-text", _) => {
            Ok(text_contents(uri, "text/plain", "This is the content of the static text resource."))
        }
        ("test://static-binary", _) => Ok(ResourceContents::BlobResourceContents {
            uri: uri.into(),
            mime_type: Some("image/png".into()),
            blob: media("png"),
            meta: None,
        }),
        ("test://watched-resource", _) => {
            Ok(text_contents(uri, "text/plain", "Watched resource content"))
        }
        (_, Some(id)) => {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Ok(text_contents(uri, "application/json", &data.to_string()))
        }
        _ => Err(ErrorData::resource_not_found("Resource not found", Some(json!({ "uri": uri })))),
    }
}

// === prompts ===

/// The prompt that asks for its context, which `modern` answers.
pub(crate) const ASKING_PROMPT: &str = "test_input_required_result_prompt";

pub(crate) fn prompts() -> Vec<Prompt> {
    let prompt = |name: &str, description: &str, arguments: &[&str]| {
        let argument = |name: &&str| {
            PromptArgument::new(*name).with_description("Any text").with_required(true)
        };
        let arguments: Vec<_> = arguments.iter().map(argument).collect();
        Prompt::new(name, Some(description), (!arguments.is_empty()).then_some(arguments))
    };
    vec![
        prompt("test_simple_prompt", "A prompt without arguments", &[]),
        prompt("test_prompt_with_arguments", "A prompt with two arguments", &["arg1", "arg2"]),
        prompt(
            "test_prompt_with_embedded_resource",
            "A prompt that carries a resource",
            &["resourceUri"],
        ),
        prompt("test_prompt_with_image", "A prompt that carries an image", &[]),
        prompt(ASKING_PROMPT, "A prompt that asks for its context", &[]),
    ]
}

pub(crate) fn prompt(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let contents = match name {
        "test_simple_prompt" => vec![ContentBlock::text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![ContentBlock::text(format!(
                "Prompt with arguments: arg1='{first}', arg2='{second}'"
            ))]
        }
        "test_prompt_with_embedded_resource" => vec![
            resource(
                argument("resourceUri"),
                "text/plain",
                "Embedded resource content for testing.",
            ),
            ContentBlock::text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => {
            vec![image(), ContentBlock::text("Please analyze the image above.")]
        }
        other => {
            return Err(ErrorData::invalid_params(format!("no prompt is called {other}"), None));
        }
    };
    Ok(messages(contents))
}

/// A prompt of these contents, each a message of the user.
pub(crate) fn messages(contents: Vec<ContentBlock>) -> GetPromptResult {
    let message = |content| PromptMessage::new(Role::User, content);
    GetPromptResult::new(contents.into_iter().map(message).collect())
}

/// The completions of what was typed.
pub(crate) fn complete(typed: &str) -> Vec<String> {
    let words = ["paris", "park", "party"].into_iter();
    words.filter(|word| word.starts_with(typed)).map(str::to_owned).collect()
}
