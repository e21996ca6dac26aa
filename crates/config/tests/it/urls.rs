//! Tests of URL patterns in a policy, hostile ones included.

use switchboard_config::UrlPattern;

/// Whether an allow rule and a deny rule with `pattern` cover `url`.
fn check(pattern: &str, url: &str, allows: bool, denies: bool) {
    let parsed: UrlPattern = pattern.parse().unwrap();
    assert_eq!(
        (parsed.allows(url), parsed.denies(url)),
        (allows, denies),
        "pattern {pattern}, url {url}: (allows, denies)"
    );
}

fn both(pattern: &str, url: &str) {
    check(pattern, url, true, true);
}

fn neither(pattern: &str, url: &str) {
    check(pattern, url, false, false);
}

#[test]
fn plain_ones() {
    both("https://a.example/mcp", "https://a.example/mcp");
    neither("https://a.example/mcp", "https://a.example/mcp2");
    neither("https://a.example/mcp", "http://a.example/mcp");
    neither("https://a.example/mcp", "https://b.example/mcp");
    both("https://a.example/*", "https://a.example/");
    both("https://a.example/*", "https://a.example/x/y/z");
    neither("https://a.example/api/*", "https://a.example/api");
    neither("https://a.example/api/*", "https://a.example/apix/y");
    both("*://a.example/*", "wss://a.example/x");
    both("a.example/*", "http://a.example/x");
    neither("https://a.example/*", "wss://a.example/x");
}

#[test]
fn host_wildcards_stay_in_the_host() {
    both("https://*.corp.example/*", "https://mcp.corp.example/x");
    both("https://*.corp.example/*", "https://a.b.corp.example/x");
    neither("https://*.corp.example/*", "https://corp.example/x");
    neither("https://*.corp.example/*", "https://evil.example/.corp.example/x");
    neither("https://*.corp.example/*", "https://evil.example/a.corp.example/");
    neither("https://*.corp.example/*", "https://evil.example?x=.corp.example/");
    neither("https://*.corp.example/*", "https://evil.example#.corp.example/");
    neither("https://*.corp.example/*", "https://evilcorp.example/x");
    neither("https://*corp.example/*", "https://evil.example/corp.example/");
    both("https://*/*", "https://anything.example/x");
    neither("https://mcp-*.example/*", "https://mcp-a.evil.test/.example/");
    neither("https://*.corp.example/*", "https://a.corp.example.evil.test/x");
    neither("https://*.corp.example/*", "https://a.corp.example%2eevil.test/x");
    neither("https://*.corp.example/*", r"https://evil.test\.corp.example/x");
}

#[test]
fn user_information_is_nobody() {
    neither("https://good.example/*", "https://good.example@evil.example/x");
    neither("https://good.example/*", "https://good.example:443@evil.example/x");
    neither("https://*.good.example/*", "https://a.good.example%2f@evil.example/x");
    both("https://good.example/*", "https://user:password@good.example/x");
    both("https://someone@good.example/*", "https://good.example/x");
}

#[test]
fn dots_in_paths_are_resolved_first() {
    neither("https://a.example/public/*", "https://a.example/public/../private/x");
    neither("https://a.example/public/*", "https://a.example/public/%2e%2e/private/x");
    neither("https://a.example/public/*", "https://a.example/public/%2E./private/x");
    both("https://a.example/private/*", "https://a.example/public/../private/x");
    both("https://a.example/b/../c", "https://a.example/c");
    neither("https://a.example/public/*", r"https://a.example/public\..\private");
    // A server may take an escaped slash for a slash: allowed only if harmless both ways, denied if harmful
    // either way.
    check("https://a.example/public/*", "https://a.example/public/..%2fprivate", false, true);
    check("https://a.example/private/*", "https://a.example/public/..%2Fprivate/x", false, true);
}

#[test]
fn ports() {
    both("https://a.example/*", "https://a.example:443/x");
    both("https://a.example:443/*", "https://a.example/x");
    both("http://a.example:80/*", "http://a.example/x");
    both("ws://a.example/*", "ws://a.example:80/x");
    both("https://a.example:8443/*", "https://a.example:8443/x");
    neither("https://a.example:8443/*", "https://a.example/x");
    neither("https://a.example:443/*", "https://a.example:8443/x");
    both("https://a.example:*/*", "https://a.example:8443/x");
    // A part that the pattern leaves out is not allowed, and is denied.
    check("https://a.example/*", "https://a.example:8443/x", false, true);
    check("https://a.example", "https://a.example/mcp", false, true);
    both("https://a.example", "https://a.example/");
    both("https://a.example/", "https://a.example");
}

#[test]
fn hosts_in_other_spellings() {
    both("https://A.Example/*", "https://a.eXAMPLE/x");
    both("https://a.example/*", "https://a.example./x");
    both("https://a.example./*", "https://a.example/x");
    both("HTTPS://a.example/*", "https://a.example/x");
    both("https://*.EXAMPLE/*", "https://a.example/x");
    both("https://bücher.example/*", "https://xn--bcher-kva.example/x");
    both("https://*.bücher.example/*", "https://a.xn--bcher-kva.example/x");
    both("http://127.0.0.1/*", "http://127.1/x");
    both("http://127.0.0.1/*", "http://0x7f000001/x");
    both("http://127.0.0.1/*", "http://2130706433/x");
    both("http://10.0.0.*/x", "http://10.0.0.7/x");
    both("https://a.example/*", "https://%61.example/x");
    both("https://a.example/*", "https:a.example/x");
    both("https://a.example/*", "  https://a.example/x\n");
    both("https://a.example/*", "ht\ntps://a.exa\tmple/x");
}

#[test]
fn ipv6() {
    both("http://[::1]:3000/*", "http://[::1]:3000/x");
    both("http://[::1]/*", "http://[0:0:0:0:0:0:0:1]/x");
    neither("http://[::1]/*", "http://[::2]/x");
    check("http://[::1]/*", "http://[::1]:3000/x", false, true);
    both("http://[::1]:*/*", "http://[::1]:3000/x");
}

#[test]
fn percent_encoding_and_case_of_paths() {
    both("https://a.example/mcp", "https://a.example/%6dcp");
    both("https://a.example/%6Dcp", "https://a.example/mcp");
    both("https://a.example/a%2fb", "https://a.example/a%2Fb");
    neither("https://a.example/a/b", "https://a.example/a%252Fb");
    neither("https://a.example/MCP", "https://a.example/mcp");
    both("https://a.example/a b", "https://a.example/a%20b");
}

#[test]
fn queries_and_fragments() {
    both("https://a.example/mcp", "https://a.example/mcp?key=1#x");
    both("https://a.example/mcp?key=1", "https://a.example/mcp?key=1");
    neither("https://a.example/mcp?key=1", "https://a.example/mcp?key=2");
    neither("https://a.example/mcp?key=1", "https://a.example/mcp");
    neither("https://a.example/x", "https://a.example/?/x");
}

#[test]
fn what_is_no_url_is_not_allowed_and_is_denied() {
    check("https://a.example/*", "nonsense", false, true);
    check("https://a.example/*", "https://", false, true);
}

#[test]
fn what_is_no_pattern() {
    for pattern in
        ["", "https://", "https:///x", "https://a:b/", "mailto://x", "https://[::1", "https://a b/"]
    {
        assert!(pattern.parse::<UrlPattern>().is_err() || pattern == "mailto://x", "{pattern}");
    }
}
