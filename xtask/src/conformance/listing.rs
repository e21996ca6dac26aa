//! What the suite offers, read from its own `list --client`.

use super::Case;

/// Extension scenarios carry no version. They run once in each era, at the newest version of it.
const EXTENSION_VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The scenarios of a listing that need no sign-in. A line reads `  - name [version,version]`.
pub(super) fn parse(listing: &str) -> Vec<Case> {
    let entries = listing.lines().filter_map(entry);
    let open = entries.filter(|(scenario, _)| !scenario.starts_with("auth/"));
    open.flat_map(|(scenario, tags)| cases(scenario, tags)).collect()
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (scenario, tags) = line.trim().strip_prefix("- ")?.split_once(" [")?;
    Some((scenario, tags.strip_suffix(']')?))
}

fn cases(scenario: &str, tags: &str) -> Vec<Case> {
    let forced = tags == "extension";
    let versions = if forced { EXTENSION_VERSIONS.to_vec() } else { tags.split(',').collect() };
    let case = |version: &str| Case { scenario: scenario.into(), version: version.into(), forced };
    versions.into_iter().map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_extensions_and_sign_in_are_told_apart() {
        let listing = "Client scenarios (test against a client):\n  - initialize [2025-06-18,2025-11-25]\n  \
                       - auth/dpop [extension]\n  - sep-2640-client-no-prefetch [extension]\n";
        let found: Vec<_> = parse(listing)
            .into_iter()
            .map(|case| (case.scenario, case.version, case.forced))
            .collect();
        let case =
            |scenario: &str, version: &str, forced| (scenario.into(), version.into(), forced);
        assert_eq!(
            found,
            [
                case("initialize", "2025-06-18", false),
                case("initialize", "2025-11-25", false),
                case("sep-2640-client-no-prefetch", "2025-11-25", true),
                case("sep-2640-client-no-prefetch", "2026-07-28", true),
            ]
        );
    }
}
