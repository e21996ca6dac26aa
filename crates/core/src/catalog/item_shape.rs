//! Removes invalid members that tools, prompts and resources have in common: icons, `_meta`, annotations, size.
//!
//! Used by `catalog::tool`, `prompt` and `resource`. A client on an SDK checks every item of a list, and one bad
//! member costs the client the whole list, good servers included. These members are optional, so a bad one is left
//! out.

use std::sync::LazyLock;

use regex::Regex;
use switchboard_wire::json::{JsonKind, Raw};

use super::item_reader::{ItemReader, MemberPath};

/// A member, and a check that its value has the form of the protocol.
type MemberRule = (MemberPath, fn(&Raw) -> bool);

/// Removes `icons` and `_meta` where they do not have the form of the protocol. Returns `_meta`.
pub(super) fn common_members(reader: &mut ItemReader<'_>) -> Option<Raw> {
    reader.optional(&["icons"], |reader, path| reader.fit(path, is_icons));
    reader.optional(&["_meta"], ItemReader::object)
}

/// Removes annotations of a resource that do not have the form of the protocol.
pub(super) fn resource_annotations(reader: &mut ItemReader<'_>) {
    const MEMBERS: [MemberRule; 3] = [
        (&["annotations", "audience"], is_audience),
        (&["annotations", "priority"], is_priority),
        (&["annotations", "lastModified"], is_timestamp),
    ];
    if reader.optional(&["annotations"], ItemReader::object).is_none() {
        return;
    }
    for (path, is_fit) in MEMBERS {
        reader.optional(path, |reader, path| reader.fit(path, is_fit));
    }
}

/// Whether `size` is a number of bytes. The Python SDK refuses fractions.
pub(super) fn is_size(value: &Raw) -> bool {
    value.decode::<f64>().is_ok_and(|size| size >= 0.0 && size.fract() == 0.0)
}

fn is_icons(value: &Raw) -> bool {
    value.kind() == JsonKind::Array && value.elements().all(|icon| is_icon(&icon))
}

fn is_icon(icon: &Raw) -> bool {
    let is_text = |key| member(icon, key).is_none_or(|value| value.kind() == JsonKind::String);
    let sizes = member(icon, "sizes").is_none_or(|sizes| {
        sizes.kind() == JsonKind::Array
            && sizes.elements().all(|size| size.kind() == JsonKind::String)
    });
    let theme = member(icon, "theme")
        .is_none_or(|theme| matches!(theme.as_str(), r#""light""# | r#""dark""#));
    member(icon, "src").is_some() && is_text("src") && is_text("mimeType") && sizes && theme
}

fn is_audience(value: &Raw) -> bool {
    let is_role = |role: Raw| matches!(role.as_str(), r#""user""# | r#""assistant""#);
    value.kind() == JsonKind::Array && value.elements().all(is_role)
}

fn is_priority(value: &Raw) -> bool {
    value.decode::<f64>().is_ok_and(|priority| (0.0..=1.0).contains(&priority))
}

fn is_timestamp(value: &Raw) -> bool {
    let matches = |text: String| TIMESTAMP.as_ref().is_some_and(|form| form.is_match(&text));
    value.to_text().is_some_and(matches)
}

/// A date and time of ISO 8601 with its offset, as the TypeScript SDKs check it.
static TIMESTAMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let leap_year = "[0-9]{2}(?:[2468][048]|[13579][26]|0[48])|(?:[02468][048]|[13579][26])00";
    let long_month = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])";
    let short_month = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)";
    let february = "02-(?:0[1-9]|1[0-9]|2[0-8])";
    let date =
        format!("(?:(?:{leap_year})-02-29|[0-9]{{4}}-(?:{long_month}|{short_month}|{february}))");
    let minute = "(?:[01][0-9]|2[0-3]):[0-5][0-9]";
    let time = format!(r"{minute}(?::[0-5][0-9](?:\.[0-9]+)?)?");
    Regex::new(&format!(r"\A{date}T{time}(?:Z|[+-]{minute})\z")).ok()
});

/// Reads a member of an object. A key that occurs twice counts as absent.
fn member(object: &Raw, key: &str) -> Option<Raw> {
    object.get(key).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_has_a_date_a_time_and_an_offset() {
        let is_one = |text: &str| is_timestamp(&Raw::parse(format!("\"{text}\"")).unwrap());
        for text in
            ["2025-01-12T15:00:58Z", "2024-02-29T00:00:00.123+02:00", "2000-02-29T23:59-11:30"]
        {
            assert!(is_one(text), "{text}");
        }
        for text in ["yesterday", "2025-01-12", "2025-01-12T15:00:58", "2025-02-29T00:00:00Z", ""] {
            assert!(!is_one(text), "{text}");
        }
    }
}
