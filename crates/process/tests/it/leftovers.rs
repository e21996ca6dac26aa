//! Test that a process leaves no descriptor, thread or task of ours behind. Counted in a process of its own,
//! since this one runs other tests meanwhile.

use std::process::Command;

use switchboard_testkit::programs::program;

#[test]
fn a_hundred_processes_leave_nothing() {
    let hub = Command::new(program("hub-under-test"))
        .args([program("guard"), program("stubborn"), "cycles".into()])
        .output()
        .unwrap();
    let said = String::from_utf8(hub.stdout).unwrap();
    let [before, after] = said.lines().collect::<Vec<_>>()[..] else { panic!("said {said:?}") };
    assert_eq!(before, after);
    assert!(after.contains("children: 0, tasks: 0"), "{after}");
}
