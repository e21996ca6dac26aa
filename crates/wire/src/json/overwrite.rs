//! Changes of members that cannot fail, for values that [`splice`](super::splice) refuses.
//!
//! Used by `Raw::overwrite`. It does not keep the white space between members, and it does not check the new values.

use super::{JsonMembers, quote_into};

/// Returns `value` with the member at `path` set to `new`, or removed. A key that stands twice is written once at the end
/// of the path, and changed in each of its values on the way, so that no reader finds another value. A value that is not
/// an object gives way to one where a member is set in it.
pub(super) fn overwrite(value: &str, path: &[&str], new: Option<&str>) -> String {
    let Some((key, rest)) = path.split_first() else { return value.to_owned() };
    let mut text = String::with_capacity(value.len() + new.map_or(0, str::len));
    let mut is_present = false;
    for member in JsonMembers::of(value) {
        let old = Some(member.value).filter(|_| member.is_named(key));
        let changed = match old {
            None => {
                open_member(&mut text);
                text.push_str(&value[member.span()]);
                continue;
            }
            Some(old) if !rest.is_empty() => Some(overwrite(old, rest, new)),
            Some(_) => new.filter(|_| !is_present).map(str::to_owned),
        };
        is_present = true;
        if let Some(changed) = changed {
            open_member(&mut text);
            text.extend([member.key, ":", &changed]);
        }
    }
    match new {
        None if !is_present => return value.to_owned(),
        Some(new) if !is_present => {
            let added =
                if rest.is_empty() { new.to_owned() } else { overwrite("{}", rest, Some(new)) };
            open_member(&mut text);
            quote_into(&mut text, key);
            text.extend([":", &added]);
        }
        _ => {}
    }
    text.push_str(if text.is_empty() { "{}" } else { "}" });
    text
}

fn open_member(text: &mut String) {
    text.push(if text.is_empty() { '{' } else { ',' });
}

#[cfg(test)]
mod tests {
    use crate::json::{JsonEdit, Raw};

    #[test]
    fn an_edit_holds_whatever_the_value_is() {
        let check = |value: &str, edit: JsonEdit<'_>, expected: &str| {
            let changed = Raw::parse(value.to_owned()).unwrap().overwrite(&[edit]);
            assert_eq!(changed.as_str(), expected, "{value}");
            Raw::parse(changed.into_text()).unwrap();
        };
        let set = JsonEdit::set(&["a"], "1");
        let remove = JsonEdit::remove(&["a"]);
        // Where a splice can be made, every other byte stays.
        check(r#"{ "a" : 0 }"#, set, r#"{ "a" : 1 }"#);
        check(r#"{"a":0, "b" : 2,"\u0061":3}"#, set, r#"{"a":1,"b" : 2}"#);
        check(r#"{"a":0,"b":2,"a":3}"#, remove, r#"{"b":2}"#);
        check(r#"{"a":0,"a":3}"#, remove, "{}");
        check("[]", set, r#"{"a":1}"#);
        check("[]", remove, "[]");
        let nested = JsonEdit::set(&["_meta", "a"], "1");
        check(r#"{"_meta":3}"#, nested, r#"{"_meta":{"a":1}}"#);
        check(
            r#"{"_meta":{"a":0},"_meta":{"b":2,"a":0,"a":0}}"#,
            nested,
            r#"{"_meta":{"a":1},"_meta":{"b":2,"a":1}}"#,
        );
        let nested = JsonEdit::remove(&["_meta", "a"]);
        check(r#"{"_meta":{"a":0},"_meta":{"a":0}}"#, nested, r#"{"_meta":{},"_meta":{}}"#);
        check(r#"{"b":1,"b":2}"#, nested, r#"{"b":1,"b":2}"#);
    }
}
