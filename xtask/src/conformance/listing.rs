//! The parser for the suite's `list --client` and `list --server`.
//!
//! Used by `conformance` to build the cases. It does not start the suite (`suite`).

use super::case::{Case, Line, Side};

/// Versions in which servers declare extensions. In earlier versions the suite cannot send some of its requests (its
/// "stateful wire" has no headers).
const EXTENSIONS_OF_SERVERS: [&str; 1] = ["2026-07-28"];

/// Parses the scenarios of a line's listing. An entry reads `  - name [version,version]`.
pub(super) fn parse(line: Line, listing: &str, side: Side) -> Vec<Case> {
    let entries = listing.lines().filter_map(entry);
    entries.flat_map(|(scenario, tags)| cases(line, scenario, tags, side)).collect()
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (scenario, tags) = line.trim().strip_prefix("- ")?.split_once(" [")?;
    Some((scenario, tags.strip_suffix(']')?))
}

fn cases(line: Line, scenario: &str, tags: &str, side: Side) -> Vec<Case> {
    // The stable line tests no more of a server than the other line does.
    if line == Line::Stable && matches!(side, Side::Sdk | Side::Cluster) {
        return Vec::new();
    }
    // These are on the list of no version. A client runs them once in each era of the line.
    let forced = matches!((tags, side), ("extension", _) | ("draft", Side::Client));
    let versions = match side {
        Side::Client if forced => line.eras().to_vec(),
        Side::Server | Side::Plugin | Side::Sdk | Side::Cluster if forced => {
            EXTENSIONS_OF_SERVERS.to_vec()
        }
        // The latest of each era: replicas differ from one gateway in what they share, not in versions.
        Side::Cluster => tags.split(',').filter(|version| line.eras().contains(version)).collect(),
        _ => tags.split(',').collect(),
    };
    let at = |version: &str| {
        let (scenario, version) = (scenario.to_owned(), version.to_owned());
        let subjects = side.subjects().into_iter();
        let able = subjects.filter(|it| it.can_be_asked(&scenario, &version, forced));
        able.collect::<Vec<_>>().into_iter().map(move |subject| Case {
            scenario: scenario.clone(),
            version: version.clone(),
            subject,
            forced,
        })
    };
    versions.into_iter().flat_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(listing: &str, side: Side) -> Vec<(String, bool)> {
        parse(Line::Alpha, listing, side).iter().map(|case| (case.slug(), case.forced)).collect()
    }

    #[test]
    fn versions_and_extensions_are_told_apart() {
        let listing = "Client scenarios (test against a client):\n  - initialize [2025-06-18,2025-11-25]\n  \
                       - auth/dpop [extension]\n  - auth/resource-mismatch [draft]\n";
        let expected = [
            ("initialize-2025-06-18-client", false),
            ("initialize-2025-11-25-client", false),
            ("auth/dpop-2025-11-25-client", true),
            ("auth/dpop-2026-07-28-client", true),
            ("auth/resource-mismatch-2025-11-25-client", true),
            ("auth/resource-mismatch-2026-07-28-client", true),
        ];
        assert_eq!(
            found(listing, Side::Client),
            expected.map(|(slug, forced)| (slug.into(), forced))
        );
    }

    #[test]
    fn a_server_scenario_is_run_with_each_era_behind_the_gateway() {
        let listing = "Server scenarios (test against a server):\n  - ping [2025-11-25]\n  \
                       - tasks-lifecycle [extension]\n";
        let expected = [
            ("ping-2025-11-25-legacy", false),
            ("ping-2025-11-25-modern", false),
            ("tasks-lifecycle-2026-07-28-legacy", true),
            ("tasks-lifecycle-2026-07-28-modern", true),
        ];
        assert_eq!(
            found(listing, Side::Server),
            expected.map(|(slug, forced)| (slug.into(), forced))
        );
    }

    #[test]
    fn a_server_on_an_sdk_is_asked_what_it_speaks_on_every_route() {
        let listing = "  - ping [2025-06-18,2025-11-25]\n  - caching [2026-07-28]\n  \
                       - tasks-lifecycle [extension]\n";
        let found = found(listing, Side::Sdk);
        let has = |slug: &str| found.contains(&(slug.to_owned(), false));
        for route in ["direct", "http", "stdio"] {
            assert!(has(&format!("ping-2025-11-25-ts1 {route}")));
            assert!(!has(&format!("caching-2026-07-28-ts1 {route}")), "it has not heard of it");
        }
        assert!(!found.iter().any(|(slug, _)| slug.contains("2025-06-18")), "one for each era");
        let tasks: Vec<_> = found.iter().filter(|(slug, _)| slug.contains("tasks")).collect();
        let has_tasks = ["direct", "http", "stdio"]
            .map(|route| (format!("tasks-lifecycle-2026-07-28-rust {route}"), true));
        assert_eq!(tasks, has_tasks.iter().collect::<Vec<_>>(), "the only one with the extension");
        assert!(parse(Line::Stable, listing, Side::Sdk).is_empty());
    }
}
