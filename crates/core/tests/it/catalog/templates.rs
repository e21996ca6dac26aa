//! Tests of URI template matching.

use proptest::prelude::*;
use switchboard_core::catalog::{TemplateError, TemplateMatcher};

#[test]
fn matching() {
    for (template, fits, others) in [
        ("a://x", &["a://x"][..], &["a://xy", "a://", ""][..]),
        (
            "file:///{name}",
            &["file:///a.txt", "file:///", "file:///a:b", "file:///%2F"],
            &["file:///a/b", "file://a", "file:///a?b", "file:///a#b"],
        ),
        ("file:///{+path}", &["file:///a/b?c#d"], &["http:///a"]),
        (
            "u://{user}/posts/{id}",
            &["u://me/posts/7", "u:///posts/"],
            &["u://me/post/7", "u://a/b/posts/7"],
        ),
        ("{scheme}://{host}", &["a://b", "a://:b"], &["a:/b", "a://b/c", "a://b://c"]),
        ("a{/x,y}", &["a", "a/1", "a/1/2"], &["ab", "a?1", "a1/2"]),
        ("a{/x*}/end", &["a/1/2/end", "a/end"], &["a/1/2", "aend"]),
        ("a{?q,page}", &["a", "a?q=1", "a?q=1&page=2"], &["aq=1", "a#x", "a&q=1"]),
        ("a?fix=1{&q}", &["a?fix=1", "a?fix=1&q=2"], &["a?fix=1?q=2"]),
        ("a{#x}", &["a", "a#b/c"], &["ab"]),
        ("a{.ext}", &["a", "a.txt", "a.tar.gz"], &["atxt", "a.x/y"]),
        ("a{;x}", &["a", "a;x=1"], &["a:x"]),
        ("aab{x}aab", &["aabaab", "aabaaab", "aabaabaab"], &["aab", "aabaaba"]),
        ("db://{table:3}/{col*}", &["db://abc/d,e"], &["db://abc"]),
        ("世://{x}界", &["世://é界"], &["世://é"]),
    ] {
        let parsed = TemplateMatcher::parse(template).unwrap();
        for uri in fits {
            assert!(parsed.matches(uri), "{template} {uri}");
        }
        for uri in others {
            assert!(!parsed.matches(uri), "{template} {uri}");
        }
    }
}

#[test]
fn what_is_no_template() {
    for text in ["a{", "a}", "a{b", "{a{b}}"] {
        assert!(TemplateMatcher::parse(text).is_err(), "{text}");
    }
    for text in ["{}", "{+}", "{=a}", "{a b}", "{a,}", "{a:}", "{a:x}", "{|a}"] {
        assert!(
            matches!(TemplateMatcher::parse(text), Err(TemplateError::Expression(_))),
            "{text}"
        );
    }
    assert!(TemplateMatcher::parse(&"{a}".repeat(32)).is_ok());
    assert_eq!(TemplateMatcher::parse(&"{a}".repeat(33)), Err(TemplateError::TooMany));
}

#[test]
fn a_hostile_template_is_not_slow() {
    // With backtracking this would not end.
    let template = TemplateMatcher::parse(&format!("{}x", "{+a}a".repeat(32))).unwrap();
    assert!(!template.matches(&"a".repeat(20_000)));
    assert!(template.matches(&format!("{}x", "a".repeat(20_000))));
}

proptest! {
    /// Whatever a template writes, it takes back.
    #[test]
    fn its_own_addresses_fit(
        parts in prop::collection::vec(("[a-c:/]{0,4}", "[a-z0-9._~%-]{0,6}"), 1..8),
    ) {
        let template: String = parts.iter().flat_map(|(text, _)| [text, "{v}"]).collect();
        let uri: String = parts.iter().flat_map(|(text, value)| [&**text, value]).collect();
        prop_assert!(TemplateMatcher::parse(&template).unwrap().matches(&uri));
    }
}
