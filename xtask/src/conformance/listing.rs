//! What the suite offers, read from its own `list --client`.

use super::{Case, Line};

/// Scenarios of extensions that the client does not have yet: keys that tokens are bound to, identities of workloads,
/// and signing in through an organisation's identity provider.
const NOT_YET: [&str; 5] = [
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
    "auth/enterprise-managed-authorization",
    "auth/cross-app-access-complete-flow",
];

/// The scenarios of a line's listing that are expected to pass. An entry reads `  - name [version,version]`.
pub(super) fn parse(line: Line, listing: &str) -> Vec<Case> {
    let entries = listing.lines().filter_map(entry);
    let built = entries.filter(|(scenario, _)| !NOT_YET.contains(scenario));
    built.flat_map(|(scenario, tags)| cases(line, scenario, tags)).collect()
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (scenario, tags) = line.trim().strip_prefix("- ")?.split_once(" [")?;
    Some((scenario, tags.strip_suffix(']')?))
}

fn cases(line: Line, scenario: &str, tags: &str) -> Vec<Case> {
    // Neither is on the list of any version: they run once in each era the line knows, at the newest version of it.
    let forced = matches!(tags, "extension" | "draft");
    let versions = if forced { line.eras().to_vec() } else { tags.split(',').collect() };
    let case = |version: &str| Case { scenario: scenario.into(), version: version.into(), forced };
    versions.into_iter().map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_extensions_and_what_is_not_built_are_told_apart() {
        let listing = "Client scenarios (test against a client):\n  - initialize [2025-06-18,2025-11-25]\n  \
                       - auth/dpop [extension]\n  - sep-2640-client-no-prefetch [extension]\n  \
                       - auth/resource-mismatch [draft]\n";
        let found = |line| {
            let cases = parse(line, listing).into_iter();
            cases.map(|case| (case.scenario, case.version, case.forced)).collect::<Vec<_>>()
        };
        let case =
            |scenario: &str, version: &str, forced| (scenario.into(), version.into(), forced);
        let [only, ..] = &found(Line::Stable)[3..] else { panic!("too few") };
        assert_eq!(*only, case("auth/resource-mismatch", "2025-11-25", true));
        assert_eq!(
            found(Line::Alpha),
            [
                case("initialize", "2025-06-18", false),
                case("initialize", "2025-11-25", false),
                case("sep-2640-client-no-prefetch", "2025-11-25", true),
                case("sep-2640-client-no-prefetch", "2026-07-28", true),
                case("auth/resource-mismatch", "2025-11-25", true),
                case("auth/resource-mismatch", "2026-07-28", true),
            ]
        );
    }
}
