//! Tests of server instructions, and of resource mentions.

use switchboard_core::catalog::{
    instructions::{InstructionDigests, changes_since, instructions_section},
    mention::{complete_mention, find_mentions, quote_uri},
};

#[test]
fn instructions_as_one_section() {
    assert_eq!(instructions_section(&[]), None);
    assert_eq!(
        instructions_section(&[
            ("a", "Use it."),
            ("b\u{1b}", "# Rules\n ## a\nText # no\n### Fine\n#tag")
        ])
        .unwrap(),
        "# MCP server instructions\n\n## a\n\nUse it.\n\n## b\n\n### Rules\n#### a\nText # no\n### Fine\n###tag\n"
    );
}

#[test]
fn only_what_is_new_is_told_again() {
    let first = changes_since(&InstructionDigests::default(), &[("a", "1"), ("b", "2")]);
    assert_eq!(first.section, instructions_section(&[("a", "1"), ("b", "2")]));
    let same = changes_since(&first.digests, &[("b", "2"), ("a", "1")]);
    assert_eq!((same.to_text(), same.section, &*same.gone), (None, None, &[][..]));
    let next = changes_since(&same.digests, &[("a", "changed"), ("c", "3")]);
    assert_eq!(next.section, instructions_section(&[("a", "changed"), ("c", "3")]));
    assert_eq!(next.gone, ["b"]);
    let last = changes_since(&next.digests, &[]);
    assert_eq!((&last.section, &*last.gone), (&None, &["a".to_owned(), "c".to_owned()][..]));
    let text = "The instructions of `a` hold no longer.\nThe instructions of `c` hold no longer.\n";
    assert_eq!(last.to_text().as_deref(), Some(text));
    assert_eq!(last.digests, InstructionDigests::default());
}

const SERVERS: &[&str] = &["docs", "plugin:x", "plugin:x:y", "my server", "世"];

#[test]
fn mentions() {
    for (line, expected) in [
        ("nothing @ here, me@docs:x, @unknown:a, @docs, @docs:", &[][..]),
        ("@docs:file:///a.txt", &[("docs", "file:///a.txt", "@docs:file:///a.txt")]),
        ("see (@docs:a://b), and", &[("docs", "a://b", "@docs:a://b")]),
        ("(see <@docs:a://(b)>)).", &[("docs", "a://(b)", "@docs:a://(b)")]),
        ("see @docs:a://b_(c).", &[("docs", "a://b_(c)", "@docs:a://b_(c)")]),
        ("is it \"@docs:a://b?\"", &[("docs", "a://b", "@docs:a://b")]),
        ("@docs:a://b?c=d&e=[1]!", &[("docs", "a://b?c=d&e=[1]", "@docs:a://b?c=d&e=[1]")]),
        (
            "@docs:\"file:///a b.txt\" and @docs:x",
            &[("docs", "file:///a b.txt", "@docs:\"file:///a b.txt\""), ("docs", "x", "@docs:x")],
        ),
        (r"@docs:a\ b.txt c", &[("docs", "a b.txt", r"@docs:a\ b.txt")]),
        (r"@docs:a\ ", &[("docs", "a ", r"@docs:a\ ")]),
        (r#"@docs:"a\"b\\c""#, &[("docs", r#"a"b\c"#, r#"@docs:"a\"b\\c""#)]),
        (r"@docs:c:\dir", &[("docs", r"c:\dir", r"@docs:c:\dir")]),
        (
            "@plugin:x:y:u @plugin:x:z",
            &[("plugin:x:y", "u", "@plugin:x:y:u"), ("plugin:x", "z", "@plugin:x:z")],
        ),
        (
            "@my server:a 世@世:b @世:界。",
            &[("my server", "a", "@my server:a"), ("世", "界。", "@世:界。")],
        ),
        ("@docs:... @docs:\"\" @docs:\"open", &[("docs", "\"open", "@docs:\"open")]),
    ] {
        let mentions = find_mentions(line, SERVERS);
        let found: Vec<_> =
            mentions.iter().map(|m| (&*m.server, &*m.uri, &line[m.range.clone()])).collect();
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn what_is_written_is_found() {
    for uri in
        ["a://b", "a b", "a.", "\"q\"", "a\\", "a\\ b", "(", ")", "a\\\\b", "x\u{3000}y", "é"]
    {
        let line = format!("see @docs:{}, ok", quote_uri(uri));
        let found: Vec<_> =
            find_mentions(&line, SERVERS).into_iter().map(|mention| mention.uri).collect();
        assert_eq!(found, [uri], "{line}");
    }
}

#[test]
fn completions() {
    let uris = |server: &str| match server {
        "docs" => ["a://1", "a://2", "b c"].map(str::to_owned).to_vec(),
        _ => Vec::new(),
    };
    for (line, expected) in [
        ("no sign", None),
        ("me@do", None),
        ("@", Some(("", &["docs:", "plugin:x:", "plugin:x:y:", "my server:", "世:"][..]))),
        ("see @do", Some(("do", &["docs:"]))),
        ("@my s", Some(("my s", &["my server:"]))),
        ("@plugin:x:", Some(("", &[]))),
        ("@zzz", None),
        ("@docs:", Some(("", &["a://1", "a://2", "\"b c\""]))),
        ("@docs:a:", Some(("a:", &["a://1", "a://2"]))),
        ("@docs:\"b ", Some(("\"b ", &["\"b c\""]))),
        (r"@docs:b\ ", Some((r"b\ ", &["\"b c\""]))),
        ("@docs:zzz", Some(("zzz", &[]))),
        ("@docs:a://1 and", None),
        ("@docs:\"b c\"", None),
        ("@docs:a://1 @d", Some(("d", &["docs:"]))),
    ] {
        let completion = complete_mention(line, SERVERS, &uris);
        let found = completion.as_ref().map(|c| (&line[c.range.clone()], c.candidates.clone()));
        let expected = expected.map(|(typed, candidates)| {
            (typed, candidates.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>())
        });
        assert_eq!(found, expected, "{line}");
    }
}
