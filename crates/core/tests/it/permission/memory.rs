//! Tests of remembered answers: scope, several processes, damaged files.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use switchboard_core::EngineProblemKind;
use switchboard_core::permission::{
    AnswerLifetime, AnswerStoreError, AnswerTarget, AskReason, PermissionMemory, ToolMemory,
};
use switchboard_core::principal::LOCAL_PRINCIPAL;

fn target() -> AnswerTarget<'static> {
    AnswerTarget {
        principal: LOCAL_PRINCIPAL,
        project: Path::new("/work/one"),
        server: "github",
        signature: "5ig",
        tool: "get",
    }
}

fn open(folder: &Path) -> PermissionMemory {
    let (memory, problems) = PermissionMemory::open(folder);
    assert_eq!(problems, []);
    memory
}

async fn remember(memory: &PermissionMemory, answer: AnswerLifetime) {
    memory.remember("session", &target(), AskReason::Undecided, answer).await.unwrap();
}

fn yes(answer: AnswerLifetime) -> ToolMemory {
    ToolMemory::with_yes(AskReason::Undecided, answer)
}

/// What is recalled in the same session, in another one, in another project, of a server that changed,
/// and of another tool: first at once, then by a new process.
async fn check(answer: AnswerLifetime, at_once: [bool; 5], later: [bool; 5]) {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let memory = open(&state);
    remember(&memory, answer).await;
    let recalled = |memory: &PermissionMemory| {
        [
            ("session", target()),
            ("other", target()),
            ("session", AnswerTarget { project: Path::new("/work/two"), ..target() }),
            ("session", AnswerTarget { signature: "0ther", ..target() }),
            ("session", AnswerTarget { tool: "put", ..target() }),
        ]
        .map(|(session, target)| memory.recall(session, &target) != ToolMemory::empty())
    };
    assert_eq!(recalled(&memory), at_once, "{answer:?}");
    assert_eq!(recalled(&open(&state)), later, "{answer:?} later");
}

#[tokio::test]
async fn an_answer_counts_as_far_as_it_was_given() {
    let nowhere = [false; 5];
    check(AnswerLifetime::Once, nowhere, nowhere).await;
    check(AnswerLifetime::Session, [true, false, true, false, false], nowhere).await;
    let project = [true, true, false, false, false];
    check(AnswerLifetime::Project, project, project).await;
    let always = [true, true, true, false, false];
    check(AnswerLifetime::Always, always, always).await;
    // A no outlives a change of the server's command.
    let never = [true, true, true, true, false];
    check(AnswerLifetime::Never, never, never).await;
}

#[tokio::test]
async fn a_session_that_ended_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(folder.path());
    remember(&memory, AnswerLifetime::Session).await;
    assert_eq!(memory.recall("session", &target()), yes(AnswerLifetime::Session));
    memory.forget_session("session");
    assert_eq!(memory.recall("session", &target()), ToolMemory::empty());
}

#[tokio::test]
async fn an_answer_belongs_to_its_question() {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(folder.path());
    let rule = AskReason::Rule("mcp__github".into());
    memory.remember("session", &target(), rule.clone(), AnswerLifetime::Always).await.unwrap();
    for memory in [memory, open(folder.path())] {
        let recalled = memory.recall("session", &target());
        assert_eq!(recalled.lifetime_of_yes(&rule), Some(AnswerLifetime::Always));
        assert_eq!(recalled.lifetime_of_yes(&AskReason::Undecided), None);
        assert!(!recalled.has_no());
    }
}

#[tokio::test]
async fn the_file_is_private_and_readable() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("a/state");
    remember(&open(&state), AnswerLifetime::Project).await;
    let file = state.join("answers.json");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&state), mode(&file)), (0o700, 0o600));
    insta::assert_snapshot!("answers_file", fs::read_to_string(file).unwrap());
    let names = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["answers.json", "answers.lock"]);
}

#[tokio::test]
async fn what_another_process_kept_stays_and_is_learnt() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (open(folder.path()), open(folder.path()));
    remember(&one, AnswerLifetime::Always).await;
    let put = AnswerTarget { tool: "put", ..target() };
    other.remember("session", &put, AskReason::Undecided, AnswerLifetime::Never).await.unwrap();
    assert_eq!(other.recall("session", &target()), yes(AnswerLifetime::Always));
    let third = open(folder.path());
    assert_eq!(third.recall("session", &target()), yes(AnswerLifetime::Always));
    assert!(third.recall("session", &put).has_no());
}

#[tokio::test]
async fn many_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let tools: Vec<String> = (0..20).map(|number| format!("tool{number}")).collect();
    // Some through one handle, some as other processes would.
    let shared = open(folder.path());
    let memory =
        |number: usize| if number.is_multiple_of(2) { shared.clone() } else { open(folder.path()) };
    let memories: Vec<PermissionMemory> = (0..tools.len()).map(memory).collect();
    let writes =
        memories.iter().zip(&tools).map(|(memory, tool)| {
            let target = AnswerTarget { tool, ..target() };
            async move {
                memory.remember("s", &target, AskReason::Undecided, AnswerLifetime::Always).await
            }
        });
    for written in futures_util::future::join_all(writes).await {
        written.unwrap();
    }
    let memory = open(folder.path());
    for (number, tool) in tools.iter().enumerate() {
        let target = AnswerTarget { tool, ..target() };
        assert_eq!(memory.recall("s", &target), yes(AnswerLifetime::Always), "{tool}");
        if number.is_multiple_of(2) {
            assert_eq!(shared.recall("s", &target), yes(AnswerLifetime::Always), "{tool} at once");
        }
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_understood_is_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers.json");
    let broken = ["{\"version\":1,\"answers\":[", "{\"version\":2,\"answers\":[]}", "\u{0}"];
    for (number, text) in broken.iter().enumerate() {
        fs::write(&file, text).unwrap();
        let (memory, problems) = PermissionMemory::open(folder.path());
        let [problem] = problems.as_slice() else { panic!("{text}: {problems:?}") };
        assert_eq!(problem.kind, EngineProblemKind::Storage);
        assert_eq!(fs::read_to_string(&file).unwrap(), *text, "reading changes nothing");

        remember(&memory, AnswerLifetime::Always).await;
        let aside = match number {
            0 => "answers.json.corrupt".to_owned(),
            more => format!("answers.json.corrupt-{}", more + 1),
        };
        assert_eq!(fs::read_to_string(folder.path().join(aside)).unwrap(), *text);
        assert_eq!(open(folder.path()).recall("s", &target()), yes(AnswerLifetime::Always));
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("answers.json")).unwrap();
    let (memory, problems) = PermissionMemory::open(folder.path());
    assert_eq!(problems.len(), 1);
    let error = memory.remember("s", &target(), AskReason::Undecided, AnswerLifetime::Always).await;
    assert!(matches!(error, Err(AnswerStoreError::Io { doing: "read", .. })), "{error:?}");
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(folder.path());
    let lock = File::create(folder.path().join("answers.lock")).unwrap();
    lock.lock().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(memory.remember(
        "s",
        &target(),
        AskReason::Undecided,
        AnswerLifetime::Always,
    ));
    assert!(matches!(error, Err(AnswerStoreError::Locked { .. })), "{error:?}");
    assert!(!folder.path().join("answers.json").exists());
}

#[tokio::test]
async fn the_newest_word_counts_and_can_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(folder.path());
    remember(&memory, AnswerLifetime::Always).await;
    remember(&memory, AnswerLifetime::Never).await;
    assert_eq!(memory.recall("s", &target()), ToolMemory::with_no());
    remember(&memory, AnswerLifetime::Project).await;
    assert_eq!(memory.recall("s", &target()), yes(AnswerLifetime::Project));
    memory.forget(|answer| answer.is_named("github/get")).await.unwrap();
    assert_eq!(memory.recall("s", &target()), ToolMemory::empty());
    assert_eq!(open(folder.path()).recall("s", &target()), ToolMemory::empty());
}

#[tokio::test]
async fn an_answer_taken_back_by_one_process_counts_in_no_other() {
    for (name, left) in [
        ("github/get", &["github/put", "linear/get"][..]),
        ("github", &["linear/get"]),
        ("linear/get", &["github/get", "github/put"]),
        ("github/", &["github/get", "github/put", "linear/get"]),
        ("git", &["github/get", "github/put", "linear/get"]),
        ("mcp__github__get", &["github/put", "linear/get"]),
        ("mcp__github", &["github/get", "github/put", "linear/get"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (hub, command) = (open(folder.path()), open(folder.path()));
        let answers = [
            ("github", "get", AnswerLifetime::Always),
            ("github", "put", AnswerLifetime::Never),
            ("linear", "get", AnswerLifetime::Project),
        ];
        for (server, tool, answer) in answers {
            let target = AnswerTarget { server, tool, ..target() };
            hub.remember("s", &target, AskReason::Undecided, answer).await.unwrap();
        }
        let forgotten = command.forget(move |answer| answer.is_named(name)).await.unwrap();
        assert_eq!(forgotten.len(), 3 - left.len(), "{name}");
        for memory in [&hub, &command, &open(folder.path())] {
            let lasting = memory.lasting_answers();
            let tools: Vec<_> =
                lasting.iter().map(|each| format!("{}/{}", each.server, each.tool)).collect();
            assert_eq!(tools, left, "{name}");
            for (server, tool, _) in answers {
                let is_left = left.contains(&&*format!("{server}/{tool}"));
                let recalled = memory.recall("s", &AnswerTarget { server, tool, ..target() });
                assert_eq!(recalled != ToolMemory::empty(), is_left, "{name}: {server}/{tool}");
            }
        }
    }
}

#[tokio::test]
async fn each_answer_has_an_id_of_its_own_in_every_process() {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(folder.path());
    let rule = AskReason::Rule("mcp__github".into());
    memory.remember("s", &target(), AskReason::Undecided, AnswerLifetime::Always).await.unwrap();
    memory.remember("s", &target(), rule, AnswerLifetime::Always).await.unwrap();
    memory.remember("s", &target(), AskReason::Undecided, AnswerLifetime::Project).await.unwrap();
    let lasting = memory.lasting_answers();
    assert_eq!(lasting, open(folder.path()).lasting_answers());
    let [first, ..] = lasting.as_slice() else { panic!("{lasting:?}") };
    let id = first.id.clone();
    let forgotten = memory.forget(move |answer| answer.is_named(&id)).await.unwrap();
    assert_eq!(
        (forgotten.as_slice(), memory.lasting_answers().as_slice()),
        (&lasting[..1], &lasting[1..])
    );
}

#[tokio::test]
async fn a_never_outlasts_damage_to_the_file_while_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let memory = open(folder.path());
    remember(&memory, AnswerLifetime::Never).await;
    fs::write(folder.path().join("answers.json"), "{").unwrap();
    assert!(memory.recall("s", &target()).has_no());
    fs::remove_file(folder.path().join("answers.json")).unwrap();
    assert_eq!(memory.recall("s", &target()), ToolMemory::empty());
}

/// A yes counts for the principal whose call was asked about, and a no of the local one for all.
#[tokio::test]
async fn an_answer_permits_nothing_to_other_principals() {
    let ada = AnswerTarget { principal: "user:ada", ..target() };
    let bob = AnswerTarget { principal: "user:bob", ..target() };
    for lasts in [AnswerLifetime::Project, AnswerLifetime::Always] {
        let folder = tempfile::tempdir().unwrap();
        let memory = open(folder.path());
        let keep = async |target: AnswerTarget<'static>| {
            memory.remember("s", &target, AskReason::Undecided, lasts).await.unwrap();
        };
        keep(target()).await;
        let recalled = |memory: &PermissionMemory| {
            [target(), ada, bob].map(|target| memory.recall("s", &target) == yes(lasts))
        };
        assert_eq!(recalled(&memory), [true, false, false], "{lasts:?}");
        keep(ada).await;
        assert_eq!(recalled(&memory), [true, true, false], "{lasts:?}");
        assert_eq!(recalled(&open(folder.path())), [true, true, false], "{lasts:?} later");
        let listed = memory.lasting_answers();
        let whose: Vec<_> = listed.iter().map(|answer| answer.principal.as_deref()).collect();
        assert!(whose.contains(&None) && whose.contains(&Some("user:ada")), "{whose:?}");
        assert_ne!(listed[0].id, listed[1].id);
    }
    let memory = PermissionMemory::in_memory();
    let forbid = async |target: AnswerTarget<'static>| {
        let never = AnswerLifetime::Never;
        memory.remember("s", &target, AskReason::Undecided, never).await.unwrap();
    };
    let forbidden = || [target(), ada, bob].map(|target| memory.recall("s", &target).has_no());
    forbid(ada).await;
    assert_eq!(forbidden(), [false, true, false]);
    forbid(target()).await;
    assert_eq!(forbidden(), [true, true, true]);
}
