//! Tests of skills: files are read only on request, and refused if they differ from the announcement. No published
//! server offers skills yet, so this one is ours.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use switchboard_wire::client::skills::{self, Skill, SkillFiles, SkillMismatch};
use switchboard_wire::client::{
    Client, ClientOptions, ServerInbox, ServerTarget, VersionNegotiation,
};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::quote;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve,
};
use switchboard_wire::{Error, Remedy, Version};

use super::{raw, text};

const MANIFEST: &str = "skill://acme/pdf/SKILL.md";
const FORMS: &str = "skill://acme/pdf/references/FORMS.md";
const LOGO: &str = "skill://acme/pdf/logo.png";
const BODY: &str = "---\nname: pdf\ndescription: >-\n  Fill\n  forms\n---\n\nDo it.\n";
const ENTRY: &str = r#"{"uri":"skill://acme/pdf/SKILL.md",
    "frontmatter":{"name":"pdf","description":"Fill forms"},
    "resources":[
        {"uri":"skill://acme/pdf/SKILL.md","digest":"sha256:30a46e0f9479d104ddcb1b07bdc7025ea4a097aa39271d773c185f81ce3d3a89","size":57},
        {"uri":"skill://acme/pdf/references/FORMS.md","digest":"sha256:7eeb911d90c4bccdd4ff71d9754e32fee79fe6b23fa2a20d5afac640c128996e","size":6},
        {"uri":"skill://acme/pdf/logo.png","digest":"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","size":3}]}"#;

/// A server of skills that records reads.
struct Library {
    entry: String,
    body: String,
    read: Arc<Mutex<Vec<String>>>,
}

impl ServerHandler for Library {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"library","version":"1"}"#),
            capabilities: raw(
                r#"{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}"#,
            ),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(std::future::ready(self.answer(&asked)))
    }
}

impl Library {
    fn answer(&self, asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
        let entry = &self.entry;
        let result = match &*asked.method {
            // Two pages, the first with an invalid entry.
            "skills/list" if text(&asked.params, "cursor").is_empty() => {
                r#"{"skills":[{"uri":"skill://odd"}],"nextCursor":"2"}"#.to_owned()
            }
            "skills/list" => format!(r#"{{"skills":[{entry}]}}"#),
            "skills/get" if text(&asked.params, "uri") == MANIFEST => {
                format!(r#"{{"skill":{entry}}}"#)
            }
            "resources/read" => self.content(text(&asked.params, "uri")),
            _ => return Err(RpcError::new(code::INVALID_PARAMS, "no such thing")),
        };
        Ok(HandlerReply::Complete(raw(result)))
    }

    fn content(&self, uri: String) -> String {
        let content = match uri.as_str() {
            MANIFEST => format!(r#""text":{}"#, quote(&self.body)),
            FORMS => r#""text":"forms\n""#.to_owned(),
            _ => r#""blob":"Zm9v""#.to_owned(),
        };
        let result = format!(r#"{{"contents":[{{"uri":{},{content}}}]}}"#, quote(&uri));
        self.read.lock().unwrap().push(uri);
        result
    }
}

/// A server without features.
struct Bare;

impl ServerHandler for Bare {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"bare","version":"1"}"#),
            capabilities: raw("{}"),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        _: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        let error = RpcError::new(code::METHOD_NOT_FOUND, "nothing");
        Box::pin(std::future::ready(Err(error)))
    }
}

/// A client of a library, and the record of reads.
async fn library(
    greeting: VersionNegotiation,
    entry: &str,
    body: &str,
) -> (Client, ServerInbox, Arc<Mutex<Vec<String>>>) {
    let read = Arc::<Mutex<Vec<String>>>::default();
    let library = Library { entry: entry.to_owned(), body: body.to_owned(), read: read.clone() };
    let (near, far) = link_pair();
    tokio::spawn(async move {
        let changes = ChangeBroadcaster::default();
        serve(far, Arc::new(library), &changes, ServeOptions::default()).await
    });
    let mut options = ClientOptions::new("reader", "1");
    options.greeting = greeting;
    let (client, inbox) = Client::connect(ServerTarget::InProcess(near), options).await.unwrap();
    (client, inbox, read)
}

#[tokio::test]
async fn are_read_only_when_wanted() {
    for version in [Version::V2025_11_25, Version::V2026_07_28] {
        let (client, _inbox, read) = library(VersionNegotiation::Only(version), ENTRY, BODY).await;
        let seen = || read.lock().unwrap().clone();
        let listing = skills::list_skills(&client).await.unwrap();
        let [skill] = &listing.skills[..] else { panic!("{listing:?}") };
        assert_eq!((skill.name(), skill.description()), ("pdf", "Fill forms"));
        assert_eq!(listing.excluded[0].name, "skill://odd");
        let again = skills::get_skill(&client, MANIFEST).await.unwrap();
        assert_eq!(again.files(), skill.files());
        assert_eq!(seen(), [""; 0]);
        let loaded = skill.load(&client).await.unwrap();
        assert_eq!(loaded.text(), BODY);
        assert_eq!(seen(), [MANIFEST]);
        assert_eq!(loaded.read(&client, FORMS).await.unwrap(), b"forms\n");
        assert_eq!(loaded.read(&client, LOGO).await.unwrap(), b"foo");
        assert_eq!(seen(), [MANIFEST, FORMS, LOGO]);
    }
}

/// Loads the skill of `entry` with the manifest `body`, and returns the mismatch.
async fn refused(entry: &str, body: &str) -> SkillMismatch {
    let (client, _inbox, _) = library(VersionNegotiation::Probe, entry, body).await;
    let skill = skills::get_skill(&client, MANIFEST).await.unwrap();
    let error = skill.load(&client).await.unwrap_err();
    assert_eq!(error.remedy(), Remedy::GiveUp);
    match error {
        Error::Skill { uri, mismatch, .. } => {
            assert_eq!(uri, MANIFEST);
            mismatch
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn are_refused_if_the_manifest_is_another() {
    let longer = refused(ENTRY, &format!("{BODY}more")).await;
    let size = SkillMismatch::Size { announced: 57, received: 61 };
    assert_eq!(longer, size);
    let other = refused(ENTRY, &BODY.replace("Do it.", "Do no.")).await;
    assert!(matches!(other, SkillMismatch::Digest { .. }), "{other}");
}

/// Without a digest, the front matter is still compared: a person may have approved it.
#[tokio::test]
async fn are_refused_if_the_front_matter_is_another() {
    let dynamic = r#"{"uri":"skill://acme/pdf/SKILL.md","resources":"dynamic",
        "frontmatter":{"name":"pdf","description":"Fill forms"}}"#;
    let field = |name: &str| SkillMismatch::FrontMatter { field: name.into() };
    let other = BODY.replace("forms", "pockets");
    assert_eq!(refused(dynamic, &other).await, field("description"));
    let more = BODY.replace("---\n\n", "allowed-tools: Bash\n---\n\n");
    assert_eq!(refused(dynamic, &more).await, field("allowed-tools"));
    let none = refused(dynamic, "Do it.").await;
    assert!(matches!(none, SkillMismatch::NoFrontMatter { .. }), "{none}");
}

#[tokio::test]
async fn have_no_files_but_their_own() {
    let outside = "skill://acme/other/SKILL.md";
    let wrong = ENTRY.replace("\"size\":6", "\"size\":7");
    let (client, _inbox, read) = library(VersionNegotiation::Probe, &wrong, BODY).await;
    let skill: Skill = skills::get_skill(&client, MANIFEST).await.unwrap();
    assert!(matches!(skill.files(), SkillFiles::Listed(files) if files.len() == 3));
    let loaded = skill.load(&client).await.unwrap();
    let mismatch = |error| match error {
        Error::Skill { mismatch, .. } => mismatch,
        other => panic!("{other}"),
    };
    let error = loaded.read(&client, outside).await.unwrap_err();
    assert_eq!(mismatch(error), SkillMismatch::NotListed);
    assert_eq!(*read.lock().unwrap(), [MANIFEST]);
    let error = loaded.read(&client, FORMS).await.unwrap_err();
    assert!(matches!(mismatch(error), SkillMismatch::Size { announced: 7, .. }));
}

#[tokio::test]
async fn are_not_asked_for_where_none_are_offered() {
    let (near, far) = link_pair();
    tokio::spawn(async move {
        let changes = ChangeBroadcaster::default();
        serve(far, Arc::new(Bare), &changes, ServeOptions::default()).await
    });
    let options = ClientOptions::new("reader", "1");
    let (client, _inbox) = Client::connect(ServerTarget::InProcess(near), options).await.unwrap();
    let error = skills::list_skills(&client).await.unwrap_err();
    assert!(matches!(error, Error::NotOffered { .. }), "{error}");
}
