//! Tests of the classifier of permission mode `auto`.

use std::path::Path;

use switchboard_core::permission::{CallClassifier, ClassifierInput, ToolAnnotations};
use switchboard_wire::json::Raw;

use crate::hooks::{Folder, bounded};

fn hints(
    read_only: Option<bool>,
    destructive: Option<bool>,
    open: Option<bool>,
) -> ToolAnnotations {
    ToolAnnotations {
        read_only_hint: read_only,
        destructive_hint: destructive,
        open_world_hint: open,
        ..ToolAnnotations::default()
    }
}

async fn classify(classifier: &CallClassifier, annotations: ToolAnnotations) -> String {
    let input = Raw::parse(r#"{"big":12345678901234567890,"path":"/x"}"#).unwrap();
    let inquiry = ClassifierInput {
        tool: "delete",
        annotations: &annotations,
        input: &input,
        server: "disk",
        workspace: Path::new("/work"),
    };
    classifier.classify(&inquiry).await.to_string()
}

#[tokio::test]
async fn hints_alone_allow_only_what_reads_in_a_closed_world() {
    let check = async |hints, expected: &str| {
        let verdict = classify(&CallClassifier::Hints, hints).await;
        assert_eq!(verdict, expected, "{hints:?}");
    };
    let (yes, no) = (Some(true), Some(false));
    let reads = "allow: the classifier says: the tool only reads, in a closed world";
    check(hints(yes, None, no), reads).await;
    let out = "ask: the classifier says: the tool reaches out into the open";
    check(hints(yes, None, yes), out).await;
    check(hints(yes, None, None), out).await;
    let changes = "ask: the classifier says: the tool changes something";
    check(hints(no, no, no), changes).await;
    let destroys = "ask: the classifier says: the tool may destroy something";
    check(hints(no, yes, no), destroys).await;
    check(hints(None, None, None), destroys).await;
}

#[test]
fn a_command_decides_and_its_failure_asks() {
    bounded(async {
        let folder = Folder::new();
        let check = async |command: &str, expected: &str| {
            let command = command.to_owned();
            let classifier = CallClassifier::Command {
                command,
                start_folder: folder.path().to_owned(),
                runner: folder.runner(),
            };
            assert_eq!(classify(&classifier, hints(Some(true), None, None)).await, expected);
        };
        check(
            r#"echo '{"decision":"allow","reason":"harmless"}'"#,
            "allow: the classifier says: harmless",
        )
        .await;
        check(r#"echo '{"decision":"deny","reason":"no"}'"#, "deny: the classifier says: no").await;
        check(r#"echo '{"decision":"ask"}'"#, "ask: the classifier says: ").await;
        check(
            r#"printf '{"decision":"deny","reason":"a\\u001b[31mb"}'"#,
            "deny: the classifier says: a[31mb",
        )
        .await;
        let failed = "ask: the classifier says: its command failed: ";
        check("echo '{\"decision\":\"allow\"}'; exit 1", &format!("{failed}exited with status 1"))
            .await;
        check(
            "echo allow",
            &format!("{failed}its answer is none: expected value at line 1 column 1"),
        )
        .await;
        check(
            r#"echo '{"decision":"sure"}'"#,
            &format!(
                "{failed}its answer is none: unknown variant `sure`, expected one of `allow`, `ask`, \
                 `deny` at line 1 column 18"
            ),
        )
        .await;
        check(
            "head -c 2000000 /dev/zero",
            &format!("{failed}it wrote more than 1048576 bytes and was stopped"),
        )
        .await;
    });
}

#[test]
fn a_command_is_told_everything() {
    bounded(async {
        let folder = Folder::new();
        let command = r#"cat > seen; echo '{"decision":"allow"}'"#.to_owned();
        let classifier = CallClassifier::Command {
            command,
            start_folder: folder.path().to_owned(),
            runner: folder.runner(),
        };
        classify(&classifier, hints(Some(true), None, None)).await;
        assert_eq!(
            folder.read("seen"),
            r#"{"tool":"delete","annotations":{"readOnlyHint":true},"input":{"big":12345678901234567890,"path":"/x"},"server":"disk","workspace":"/work"}"#
        );
    });
}

/// The command is real and the clock is not: it runs ahead whenever nothing else happens.
#[test]
fn a_command_has_ten_seconds() {
    let folder = Folder::new();
    let command = "trap '' INT TERM; while :; do sleep 60; done".to_owned();
    let classifier = CallClassifier::Command {
        command,
        start_folder: folder.path().to_owned(),
        runner: folder.runner(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let verdict = runtime.block_on(classify(&classifier, hints(None, None, None)));
    assert_eq!(
        verdict,
        "ask: the classifier says: its command failed: it took longer than 10 s and was stopped"
    );
    drop(runtime);
    folder.is_deserted();
}
