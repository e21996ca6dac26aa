//! What the suite offers, read from its own `list --client`.

use super::Case;

/// Extension scenarios carry no version. They run once in each era, at the newest version of it.
const EXTENSION_VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Scenarios of extensions that the client does not have yet: keys that tokens are bound to, identities of workloads,
/// and signing in through an organisation's identity provider.
const NOT_YET: [&str; 5] = [
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
    "auth/enterprise-managed-authorization",
    "auth/cross-app-access-complete-flow",
];

/// The scenarios of a listing that are expected to pass. A line reads `  - name [version,version]`.
pub(super) fn parse(listing: &str) -> Vec<Case> {
    let entries = listing.lines().filter_map(entry);
    let built = entries.filter(|(scenario, _)| !NOT_YET.contains(scenario));
    built.flat_map(|(scenario, tags)| cases(scenario, tags)).collect()
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (scenario, tags) = line.trim().strip_prefix("- ")?.split_once(" [")?;
    Some((scenario, tags.strip_suffix(']')?))
}

fn cases(scenario: &str, tags: &str) -> Vec<Case> {
    let forced = matches!(tags, "extension" | "draft");
    let versions = match tags {
        "extension" => EXTENSION_VERSIONS.to_vec(),
        // The older line wrote these for the version that came after its own, and runs them at its own.
        "draft" => vec![EXTENSION_VERSIONS[0]],
        versions => versions.split(',').collect(),
    };
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
