//! Tests of resolving, as data: files, environment and policy in; desired state and problems out.

use std::fs;
use std::path::Path;

use crate::case::cases;

fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cases").join(file);
    let text = fs::read_to_string(&path).unwrap();
    let cases = cases(&text);
    let outcomes: Vec<_> = cases.iter().map(|case| (case, case.outcome())).collect();
    if std::env::var_os("UPDATE").is_some() {
        let text: String =
            outcomes.iter().map(|(case, outcome)| case.with_expectation(outcome)).collect();
        fs::write(&path, text).unwrap();
        return;
    }
    let wrong: Vec<_> =
        outcomes.iter().filter(|(case, outcome)| outcome != case.expected()).collect();
    for (case, outcome) in &wrong {
        println!("=== {}\n--- expected\n{}\n--- got\n{outcome}\n", case.name, case.expected());
    }
    assert!(wrong.is_empty(), "{} of {} cases in {file} are wrong", wrong.len(), cases.len());
}

macro_rules! case_files {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"));
        }
    )*};
}

case_files! { entries expansion scopes trust policy managed settings agents connectors hostile start }
