//! Property tests of result limits.

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_core::results::{ResultPolicy, SpillMode};

use super::{Kit, first_text, is_same, raw};

/// Any JSON that a server could put beside what we know.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_item() -> impl Strategy<Value = Value> {
    prop_oneof![
        ".{0,40}".prop_map(|text| json!({"type":"text","text":text,"annotations":{"priority":1}})),
        any_json().prop_map(|x| json!({"type":"resource_link","uri":"x:y","extra":x})),
        ".{0,20}".prop_map(|text| json!({"type":"resource","resource":{"uri":"x:y","text":text}})),
        Just(json!({"type":"audio","data":"AAAA","mimeType":"audio/wav"})),
        Just(json!({"type":"image","data":"not base64","mimeType":"image/png"})),
        any_json(),
    ]
}

fn text_of(item: &Value) -> Option<&str> {
    let inner = match item["type"].as_str() {
        Some("text") => item,
        Some("resource") => &item["resource"],
        _ => return None,
    };
    inner["text"].as_str()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn within_the_limits_it_is_the_same_bytes(
        items in prop::collection::vec(any_item(), 0..6), other in any_json(), pretty in any::<bool>(),
    ) {
        let result = json!({"content":items,"structuredContent":{"a":other},"isError":false,"x-other":[1.5]});
        let text = if pretty { serde_json::to_string_pretty(&result) } else { serde_json::to_string(&result) };
        let result = raw(text.unwrap());
        block_on(async {
            let kit = Kit::new().await;
            for policy in [ResultPolicy::local(), ResultPolicy::gateway(), ResultPolicy { spill: SpillMode::Off, ..ResultPolicy::local() }] {
                let kept = kit.tool(&result, &policy).await;
                prop_assert!(is_same(&kept, &result), "{result:?}");
                prop_assert!(kept.note.is_none() && kept.problem.is_none() && kept.images_scaled == 0);
            }
            prop_assert_eq!(kit.files(), 0);
            Ok(())
        })?;
    }

    #[test]
    fn past_them_the_file_and_the_note_hold_everything(
        items in prop::collection::vec(any_item(), 0..6), structured in any_json(), long in "[a-zé\n\"\\\\]{101,300}",
    ) {
        let mut items = items;
        items.push(json!({"type":"text","text":long}));
        let result = json!({"content":items,"structuredContent":{"a":structured},"isError":true,"_meta":{"k":1}});
        block_on(async {
            let kit = Kit::new().await;
            let policy = super::small(ResultPolicy::local());
            let kept = kit.tool(&raw(result.to_string()), &policy).await;
            let spilled = kept.spilled.as_ref().unwrap();
            let file = std::fs::read_to_string(&spilled.path).unwrap();
            prop_assert_eq!(file.len() as u64, spilled.bytes);
            for text in items.iter().filter_map(text_of) {
                prop_assert!(file.contains(text), "{text:?} is not in the file");
            }
            prop_assert!(file.ends_with(&serde_json::to_string_pretty(&result["structuredContent"]).unwrap()));
            let after: Value = kept.result.decode().unwrap();
            prop_assert!(first_text(&kept.result, "content").contains(spilled.path.to_str().unwrap()));
            prop_assert_eq!(&after["isError"], &json!(true));
            prop_assert_eq!(&after["_meta"], &json!({"k":1}));
            prop_assert!(after.get("structuredContent").is_none());
            let others: Vec<&Value> = items.iter().filter(|item| text_of(item).is_none()).collect();
            let left: Vec<&Value> = after["content"].as_array().unwrap().iter().skip(1).collect();
            prop_assert_eq!(left, others);
            Ok(())
        })?;
    }
}
