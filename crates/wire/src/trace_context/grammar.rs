//! The forms of W3C Trace Context and W3C Baggage, as far as a value must have them to be a header.
//!
//! Used by `trace_context`. It interprets no value.

/// The length of a `traceparent` of version 00.
const TRACE_PARENT_BYTES: usize = 55;
/// The longest `traceparent` of a later version that is accepted.
const MAX_TRACE_PARENT_BYTES: usize = 256;
/// The longest `tracestate` that is accepted; the W3C asks for at least 512.
const MAX_TRACE_STATE_BYTES: usize = 4096;
/// The most members of a `tracestate`, by the W3C.
const MAX_TRACE_STATE_MEMBERS: usize = 32;
/// The longest `baggage` that is accepted; the W3C asks for at least 8192.
const MAX_BAGGAGE_BYTES: usize = 8192;

/// Whether this is a `traceparent`: version, trace id, parent id and flags. A later version may have more fields.
pub(super) fn is_trace_parent(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some((known, rest)) = bytes.split_at_checked(TRACE_PARENT_BYTES) else { return false };
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_id = |id: &[u8]| id.iter().all(is_digit) && id.iter().any(|byte| *byte != b'0');
    let is_separated = [2, 35, 52].iter().all(|at| known[*at] == b'-');
    let (version, flags) = (&known[..2], &known[53..]);
    let is_rest_well_formed = match version {
        b"00" => rest.is_empty(),
        b"ff" => false,
        _ => rest.is_empty() || rest[0] == b'-' && rest.iter().all(u8::is_ascii_graphic),
    };
    bytes.len() <= MAX_TRACE_PARENT_BYTES
        && is_separated
        && version.iter().chain(flags).all(is_digit)
        && is_id(&known[3..35])
        && is_id(&known[36..52])
        && is_rest_well_formed
}

/// Whether this is a `tracestate`: members `key=value`, separated by commas. Members may be empty.
pub(super) fn is_trace_state(text: &str) -> bool {
    let members = || text.split(',').map(trim).filter(|member| !member.is_empty());
    let is_member = |member: &str| {
        let parts = member.split_once('=');
        parts.is_some_and(|(key, value)| is_state_key(key) && is_state_value(value))
    };
    text.len() <= MAX_TRACE_STATE_BYTES
        && (1..=MAX_TRACE_STATE_MEMBERS).contains(&members().count())
        && members().all(is_member)
}

fn is_state_key(key: &str) -> bool {
    let is_first = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
    let is_other = |byte: u8| is_first(byte) || matches!(byte, b'_' | b'-' | b'*' | b'/' | b'@');
    let mut bytes = key.bytes();
    key.len() <= 256 && bytes.next().is_some_and(is_first) && bytes.all(is_other)
}

fn is_state_value(value: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
    (1..=256).contains(&value.len()) && value.bytes().all(is_allowed)
}

/// Whether this is a `baggage`: members `key=value`, separated by commas, each with properties after semicolons.
pub(super) fn is_baggage(text: &str) -> bool {
    text.len() <= MAX_BAGGAGE_BYTES && text.split(',').all(|member| is_baggage_member(trim(member)))
}

fn is_baggage_member(member: &str) -> bool {
    let mut parts = member.split(';').map(trim);
    let is_pair = |pair: &str| {
        let parts = pair.split_once('=');
        parts.is_some_and(|(key, value)| is_token(trim(key)) && is_baggage_value(trim(value)))
    };
    parts.next().is_some_and(is_pair)
        && parts.all(|property| is_token(property) || is_pair(property))
}

fn is_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

fn is_baggage_value(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte))
}

/// The text without the white space that may stand around members.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_parents() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let later = format!("cc{}-more", &good[2..]);
        for text in [good, &later, &later[..55]] {
            assert!(is_trace_parent(text), "{text}");
        }
        for text in [
            "",
            &good[..54],
            &format!("{good}-more"),
            &format!("ff{}", &good[2..]),
            &good.to_uppercase(),
            &good.replace('-', "_"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            &format!("{later}\r\nevil: 1"),
            &format!("{later}{}", "x".repeat(300)),
            &format!("{}é", &good[..53]),
        ] {
            assert!(!is_trace_parent(text), "{text}");
        }
    }

    #[test]
    fn trace_states() {
        for text in ["a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a@b=x y, c=2,", "1a=-"] {
            assert!(is_trace_state(text), "{text}");
        }
        let many = "a=1,".repeat(33);
        let long = format!("a={}", "x".repeat(257));
        for text in ["", ",", "a", "A=1", "=1", "a=", "a=1=2", "a=\u{e9}", "a=\r\nb", &many, &long]
        {
            assert!(!is_trace_state(text), "{text}");
        }
    }

    #[test]
    fn baggages() {
        for text in ["k=v", "a=1,b=2", "a = 1 ; p ; q=x , b=%20", "a="] {
            assert!(is_baggage(text), "{text}");
        }
        let long = format!("a={}", "x".repeat(9000));
        for text in ["", "k", "a=1,", "a b=1", "a=x y", "a=\"x\"", "a=1;", "a=\n", "a=é", &long] {
            assert!(!is_baggage(text), "{text}");
        }
    }
}
