//! Tests of spills: results that are too large are kept in files.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Instant};

use serde_json::{Value, json};
use switchboard_core::{
    EngineProblemKind,
    catalog::Tool,
    results::{AppDataPolicy, BlobPolicy, ResultAddress, ResultPolicy, SpillMode},
};

use super::{Kit, first_text, is_same, raw, small};
use crate::logs::peak_memory;

fn long(lines: usize) -> String {
    let lines: Vec<String> =
        (0..lines).map(|n| format!("line {n} – {}\n", "é".repeat(20))).collect();
    lines.concat()
}

fn text_result(text: &str) -> switchboard_wire::json::Raw {
    raw(json!({"content":[{"type":"text","text":text}]}).to_string())
}

#[tokio::test]
async fn limits_are_counted_in_characters_of_text() {
    let kit = Kit::new().await;
    let usual = ResultPolicy::local();
    let tokens = |tokens| ResultPolicy::local().with_tokens(tokens);
    let tool = |chars: u64| {
        let meta = json!({ "anthropic/maxResultSizeChars": chars });
        let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, "_meta": meta });
        let tool = Tool::parse(&raw(tool.to_string()), &|_| Ok(())).unwrap();
        ResultPolicy::local().for_tool(&tool)
    };
    for (policy, chars, fits) in [
        (usual, 100_000, true),
        (usual, 100_001, false),
        (tokens(10), 40, true),
        (tokens(10), 41, false),
        (tokens(50_000), 200_000, true),
        (tokens(0), 3_000_000, true),
        (tool(300_000), 300_000, true),
        (tool(300_000), 300_001, false),
        (tool(10), 11, false),
        (tool(9_000_000), 500_000, true),
        (tool(9_000_000), 500_001, false),
        (tool(0), 100_000, true),
    ] {
        for text in ["x".repeat(chars), "é".repeat(chars), "\n".repeat(chars)] {
            let result = text_result(&text);
            let kept = kit.tool(&result, &policy).await;
            assert_eq!(is_same(&kept, &result), fits, "{chars} characters, {policy:?}");
            assert_eq!(kept.spilled.is_none(), fits);
        }
    }
    // Two texts count together; what is no text does not count.
    let half = "x".repeat(50_001);
    let two = raw(json!({"content":[{"type":"text","text":half},{"type":"resource","resource":{"uri":"a:b","text":half}}]}).to_string());
    assert!(kit.tool(&two, &usual).await.spilled.is_some());
    let sound = raw(
        json!({"content":[{"type":"audio","data":"A".repeat(300_000),"mimeType":"audio/wav"}]})
            .to_string(),
    );
    assert!(is_same(&kit.tool(&sound, &usual).await, &sound));
}

/// Whatever the limit, no more characters come than it allows; of one that is too small for anything, the place alone.
#[tokio::test]
async fn the_note_keeps_to_the_limit_too() {
    let kit = Kit::new().await;
    let result = text_result(&long(5_000));
    for (policy, place) in [
        (ResultPolicy::gateway(), "switchboard://results/".to_owned()),
        (ResultPolicy::local(), kit.dir.path().to_str().unwrap().to_owned()),
    ] {
        for tokens in [1, 10, 30, 60, 100, 150, 499, 500, 501, 700, 5_000] {
            let kept = kit.tool(&result, &policy.with_tokens(tokens)).await;
            let note = first_text(&kept.result, "content");
            let chars = note.chars().count();
            assert!(note.contains(&place), "{tokens} tokens: {note}");
            assert!(chars <= 4 * tokens || note.starts_with(&place), "{tokens} tokens: {note}");
            // What there is room for is used.
            assert!(tokens < 150 || note.contains("The first "), "{tokens} tokens: {note}");
            assert!(chars >= (2 * tokens).min(2_000) || tokens < 150, "{tokens} tokens: {note}");
        }
        for chars in [1, 60, 100, 1_000, 50_000] {
            let policy = ResultPolicy { spill: SpillMode::Off, max_chars: chars, ..policy };
            let kept = kit.tool(&result, &policy).await;
            let texts = kept.result.get("content").unwrap().unwrap();
            let texts = texts.elements().map(|item| item.get("text").unwrap().unwrap().to_text());
            let shown: usize = texts.map(|text| text.unwrap().chars().count()).sum();
            assert!(shown <= chars.max(60), "{chars} characters: {shown}");
        }
    }
}

#[tokio::test]
async fn a_single_text_becomes_a_file_of_that_text() {
    let kit = Kit::new().await;
    let text = long(5_000);
    let kept = kit.tool(&text_result(&text), &ResultPolicy::local()).await;
    let spilled = kept.spilled.unwrap();
    assert_eq!(fs::read_to_string(&spilled.path).unwrap(), text);
    assert_eq!(spilled.path.extension().unwrap(), "txt");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&spilled.path), mode(spilled.path.parent().unwrap())), (0o600, 0o700));
    assert!(!kept.truncated && kept.problem.is_none());

    let note = first_text(&kept.result, "content");
    let note = note.replace(spilled.path.to_str().unwrap(), "FILE");
    let head: String = note.lines().take(6).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(head);
    assert!(note.len() < 4_000 && note.ends_with(&"é".repeat(20)));
}

#[tokio::test]
async fn structure_alone_becomes_json() {
    let kit = Kit::new().await;
    let structured = json!({"rows": vec![json!({"n": 1.5, "s": "x"}); 10_000]});
    let result = raw(json!({"content":[],"structuredContent":structured}).to_string());
    let kept = kit.tool(&result, &ResultPolicy::local()).await;
    let spilled = kept.spilled.unwrap();
    assert_eq!(spilled.path.extension().unwrap(), "json");
    let file: Value = serde_json::from_str(&fs::read_to_string(&spilled.path).unwrap()).unwrap();
    assert_eq!(file, structured);
    assert!(kept.result.get("structuredContent").unwrap().is_none());
    assert!(kept.result.as_str().len() < 4_000);
}

#[tokio::test]
async fn the_gateway_names_a_uri_and_keeps_promises() {
    let kit = Kit::new().await;
    let result = text_result(&long(5_000));
    let kept = kit.tool(&result, &ResultPolicy::gateway()).await;
    let spilled = kept.spilled.unwrap();
    let note = first_text(&kept.result, "content");
    assert!(!note.contains(kit.dir.path().to_str().unwrap()), "{note}");
    assert!(note.contains(&format!("switchboard://results/{}", spilled.id)));
    let address = ResultAddress::parse(&format!("switchboard://results/{}", spilled.id)).unwrap();
    assert_eq!(address.id, spilled.id);

    let promising = ResultPolicy { has_output_schema: true, ..ResultPolicy::gateway() };
    assert!(is_same(&kit.tool(&result, &promising).await, &result));
    let local = ResultPolicy { has_output_schema: true, ..ResultPolicy::local() };
    assert!(kit.tool(&result, &local).await.spilled.is_some());
}

#[tokio::test]
async fn without_a_place_to_go_text_is_cut() {
    let kit = Kit::new().await;
    let off = ResultPolicy { spill: SpillMode::Off, ..small(ResultPolicy::local()) };
    let image = json!({"type":"image","data":"AAAA","mimeType":"image/png"});
    let result = raw(json!({"content":[{"type":"text","text":"é".repeat(30)},image,{"type":"text","text":"😀".repeat(90)},
        {"type":"text","text":"never"}],"structuredContent":{"a":1},"isError":true}).to_string());
    let kept = kit.tool(&result, &off).await;
    assert!(kept.truncated && kept.spilled.is_none() && kept.problem.is_none());
    let after: Value = kept.result.decode().unwrap();
    assert_eq!(
        after,
        json!({"content":[{"type":"text","text":"é".repeat(30)},image,{"type":"text","text":"😀".repeat(23)},
        {"type":"text","text":"[output truncated: 53 of 132 characters shown]"}],"isError":true})
    );
    assert_eq!(kit.files(), 0);
}

#[tokio::test]
async fn a_disk_that_refuses_costs_only_what_does_not_fit() {
    // Full, and not there at all.
    let full = Kit::capped(50).await;
    let gone = Kit::new().await;
    fs::remove_dir_all(gone.dir.path().join("results")).unwrap();
    fs::write(gone.dir.path().join("results"), "").unwrap();
    for kit in [&full, &gone] {
        let result = text_result(&"x".repeat(200));
        let kept = kit.tool(&result, &small(ResultPolicy::local())).await;
        assert!(kept.truncated && kept.spilled.is_none());
        assert_eq!(kept.problem.unwrap().kind, EngineProblemKind::Storage);
        assert_eq!(first_text(&kept.result, "content"), "x".repeat(53));
        assert!(kept.note.unwrap().contains("output truncated"));

        // Blobs that cannot be written stay.
        let blob = raw(json!({"contents":[{"uri":"a:b","blob":"QUFB".repeat(30)}]}).to_string());
        let kept = kit.resource(&blob, &ResultPolicy::local()).await;
        assert!(is_same(&kept, &blob) && kept.problem.is_some());
    }
    assert_eq!(full.files(), 0);
}

#[tokio::test]
async fn resources_are_treated_alike() {
    let kit = Kit::new().await;
    let result = raw(json!({"contents":[{"uri":"file:///a","mimeType":"text/x","text":long(5_000)},
        {"uri":"file:///b","text":"short"},{"uri":"file:///c.pdf","mimeType":"application/pdf","blob":"JVBERi0="}],"ttlMs":5}).to_string());
    let kept = kit.resource(&result, &ResultPolicy::local()).await;
    let spilled = kept.spilled.unwrap();
    let file = fs::read_to_string(&spilled.path).unwrap();
    assert!(file.contains(&long(5_000)) && file.contains("short"));
    let after: Value = kept.result.decode().unwrap();
    assert_eq!(after["ttlMs"], json!(5));
    assert_eq!(after["contents"][0]["uri"], json!("file:///a"));
    assert_eq!(after["contents"].as_array().unwrap().len(), 1);
    let pdf = file.split("is in ").nth(1).unwrap();
    assert_eq!(fs::read(pdf).unwrap(), b"%PDF-");
    assert_eq!(std::path::Path::new(pdf).extension().unwrap(), "pdf");

    let gateway = ResultPolicy::gateway();
    assert_eq!(gateway.blobs, BlobPolicy::Leave);
    let blob = raw(json!({"contents":[{"uri":"a:b","blob":"A".repeat(400_000)}]}).to_string());
    assert!(is_same(&kit.resource(&blob, &gateway).await, &blob));
}

#[tokio::test]
async fn what_has_no_content_passes() {
    let kit = Kit::new().await;
    let filler = "x".repeat(200_000);
    for result in [
        json!({"task":{"taskId":filler}}).to_string(),
        json!({"content":filler}).to_string(),
        format!(r#"{{"content":[],"content":[{{"type":"text","text":"{filler}"}}]}}"#),
        format!("\"{filler}\""),
    ] {
        let result = raw(result);
        assert!(is_same(&kit.tool(&result, &ResultPolicy::local()).await, &result), "{result:?}");
    }
}

#[tokio::test]
async fn a_very_large_text_is_not_copied() {
    let line = format!("{}\\n", "a line of a very large text ".repeat(40));
    let kit = Kit::new().await;
    let mut text = String::with_capacity(210 * 1024 * 1024);
    text.push_str(r#"{"content":[{"type":"text","text":""#);
    while text.len() < 200 * 1024 * 1024 {
        text.push_str(&line);
    }
    text.push_str(r#""}],"isError":false}"#);
    let result = raw(text);
    let (memory, started) = (peak_memory(), Instant::now());
    let kept = kit.tool(&result, &ResultPolicy::local()).await;
    let more = peak_memory() - memory;
    assert!(more < 150 * 1024 * 1024, "{more} bytes more");
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
    assert!(kept.spilled.unwrap().bytes > 190 * 1024 * 1024);
    assert!(kept.result.as_str().len() < 4_000);
}

#[tokio::test]
async fn data_for_apps_passes_whole_where_a_host_gets_it() {
    let kit = Kit::new().await;
    let html = "x".repeat(300_000);
    let policy = ResultPolicy { app_data: AppDataPolicy::Leave, ..ResultPolicy::gateway() };
    let app = json!({ "uri": "ui://a", "mimeType": "text/html;profile=mcp-app", "text": html });
    let by_address = json!({ "uri": "UI://a", "mimeType": "text/html", "text": html });
    let by_type = json!({ "uri": "a:b", "mimeType": "text/html;profile=mcp-app", "text": html });
    for item in [&app, &by_address, &by_type] {
        let result = raw(json!({ "contents": [item] }).to_string());
        let kept = kit.resource(&result, &policy).await;
        assert!(is_same(&kept, &result));
        assert!(kit.resource(&result, &ResultPolicy::gateway()).await.spilled.is_some());
    }
    // Other text of the same result is limited.
    let other = json!({ "uri": "a:b", "text": html });
    let both = raw(json!({ "contents": [other, app] }).to_string());
    let kept = kit.resource(&both, &policy).await;
    assert!(kept.spilled.is_some());
    assert_eq!(kept.result.decode::<Value>().unwrap()["contents"][1], app);

    let structured = json!({ "data": html });
    let result = raw(json!({ "content": [], "structuredContent": structured }).to_string());
    assert!(is_same(&kit.tool(&result, &policy).await, &result));
    assert!(kit.tool(&result, &ResultPolicy::gateway()).await.spilled.is_some());
    let content =
        json!([{ "type": "text", "text": html }, { "type": "resource", "resource": app }]);
    let result = raw(json!({ "content": content, "structuredContent": structured }).to_string());
    for policy in [policy, ResultPolicy { spill: SpillMode::Off, ..policy }] {
        let kept = kit.tool(&result, &policy).await;
        let kept: Value = kept.result.decode().unwrap();
        assert_eq!(kept["structuredContent"], structured);
        let items = kept["content"].as_array().unwrap();
        assert!(items.contains(&json!({ "type": "resource", "resource": app })));
        assert!(
            items.iter().all(|item| item["text"].as_str().is_none_or(|text| text.len() < 200_000))
        );
    }
}
