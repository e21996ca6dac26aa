//! URI templates: `notes://{folder}/{id}`. Of RFC 6570, the simple and the reserved form, which servers use.
//!
//! Used by `item` and by the plugin host.

/// A parsed URI template.
#[derive(Debug, Clone, PartialEq)]
pub struct UriTemplate(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    /// `{name}`: up to the next `/`.
    Segment(String),
    /// `{+name}`: everything, slashes included.
    Rest(String),
}

// === impl UriTemplate ===

impl UriTemplate {
    /// Parses a template.
    pub fn new(template: &str) -> Self {
        let mut parts = Vec::new();
        let mut left = template;
        while let Some((text, rest)) = left.split_once('{') {
            let Some((name, rest)) = rest.split_once('}') else { break };
            parts.push(Part::Text(text.to_owned()));
            parts.push(match name.strip_prefix('+') {
                Some(name) => Part::Rest(name.to_owned()),
                None => Part::Segment(name.to_owned()),
            });
            left = rest;
        }
        parts.push(Part::Text(left.to_owned()));
        Self(parts)
    }

    /// Returns the values with which the template becomes this URI; `None` if it does not match.
    pub fn read(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let mut values = Vec::new();
        matches(&self.0, uri, &mut values).then_some(values)
    }
}

fn matches(parts: &[Part], uri: &str, values: &mut Vec<(String, String)>) -> bool {
    let Some((part, rest)) = parts.split_first() else {
        return uri.is_empty();
    };
    let (name, end) = match part {
        Part::Text(text) => {
            return uri.strip_prefix(text.as_str()).is_some_and(|uri| matches(rest, uri, values));
        }
        Part::Segment(name) => (name, uri.find('/').unwrap_or(uri.len())),
        Part::Rest(name) => (name, uri.len()),
    };
    // Tries the longest value first, and shortens it until the rest of the template matches.
    let cuts = uri.char_indices().map(|(at, _)| at).chain([uri.len()]);
    let cuts: Vec<usize> = cuts.filter(|at| (1..=end).contains(at)).collect();
    for cut in cuts.into_iter().rev() {
        let kept = values.len();
        values.push((name.clone(), decoded(&uri[..cut])));
        if matches(rest, &uri[cut..], values) {
            return true;
        }
        values.truncate(kept);
    }
    false
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.as_bytes();
    while let Some((&first, rest)) = left.split_first() {
        let hex = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                left = &rest[2..];
            }
            _ => {
                bytes.push(first);
                left = rest;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::UriTemplate;

    #[test]
    fn values_are_found_where_the_template_has_names() {
        let check = |template: &str, uri: &str, expected: Option<&str>| {
            let found = UriTemplate::new(template).read(uri).map(|values| {
                values.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.as_deref(), expected, "{template} {uri}");
        };
        check("a://{x}", "a://1", Some("x=1"));
        check("a://{x}", "a://", None);
        check("a://{x}", "a://1/2", None);
        check("a://{+x}", "a://1/2", Some("x=1/2"));
        check("a://{x}/b/{y}", "a://1/b/2%20%C3%BC", Some("x=1 y=2 ü"));
        check("a://{x}.{y}", "a://1.2.3", Some("x=1.2 y=3"));
        check("a://b", "a://b", Some(""));
        check("a://b", "a://c", None);
        check("a://{x}", "a://%zz%4", Some("x=%zz%4"));
    }
}
