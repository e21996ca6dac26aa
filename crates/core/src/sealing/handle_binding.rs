//! The purpose that a sealed handle is bound to: kind, place, principal, method, name and arguments.
//!
//! Used by `sealing::sealer` as additional authenticated data, and by `gateway::bridge`, which builds the binding
//! of each request.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use switchboard_wire::json::{JsonKind, Raw, decode_string};

/// The version of the handle format.
const HANDLE_VERSION: u8 = 1;

/// The purpose of a handle. A handle opens only with an equal binding.
///
/// The server is part of the payload, not of the binding: a repeated request does not name its server. The code
/// that opens a handle checks that the request still leads to that server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandleBinding<'a> {
    /// The kind of payload.
    pub kind: HandleKind,
    /// The workspace, and the part of its catalog that the client sees.
    pub place: &'a str,
    /// The principal that the handle was given to.
    pub principal: &'a str,
    /// The method of the request that the handle belongs to; empty where it belongs to none.
    pub method: &'a str,
    /// The tool or prompt that was called, by the name that the client uses.
    pub name: &'a str,
    /// The digest of the call's arguments.
    pub arguments: JsonDigest,
}

/// The kind of payload in a handle. The numbers are part of handles that clients hold: they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleKind {
    /// The id of a parked call in this process.
    Parked = 1,
    /// A call that its server wants made again, with everything needed for that.
    Again = 2,
    /// The id of a server's task.
    Task = 3,
    /// One half of the pass of a console page.
    ConsolePass = 4,
    /// The session of a browser that a person signed in with.
    BrowserSession = 5,
    /// The state of a browser that is at its issuer to sign in.
    IssuerVisit = 6,
}

/// A digest of a JSON value that does not depend on how the value is written: white space, the order of members and
/// escapes make no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JsonDigest([u8; 32]);

// === impl HandleKind ===

impl HandleKind {
    /// Makes a handle of sealed bytes.
    pub fn to_handle(self, sealed: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode([&[HANDLE_VERSION, self.byte()], sealed].concat())
    }

    /// Returns the sealed bytes of a handle that claims to be of this kind.
    pub fn sealed_bytes(self, handle: &str) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(handle).ok()?;
        let is_of_kind = bytes.get(..2)? == [HANDLE_VERSION, self.byte()];
        is_of_kind.then(|| bytes.split_off(2))
    }

    /// Reads the kind that a handle claims. Only opening the handle shows whether the claim is true.
    pub fn from_handle(handle: &str) -> Option<Self> {
        // Four Base64 letters are three bytes: version and kind are the first two.
        let start = URL_SAFE_NO_PAD.decode(handle.get(..4)?).ok()?;
        (start[0] == HANDLE_VERSION).then(|| Self::from_byte(start[1])).flatten()
    }

    const ALL: [Self; 6] = [
        Self::Parked,
        Self::Again,
        Self::Task,
        Self::ConsolePass,
        Self::BrowserSession,
        Self::IssuerVisit,
    ];

    fn byte(self) -> u8 {
        self as u8
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.byte() == byte)
    }
}

// === impl HandleBinding ===

impl HandleBinding<'_> {
    /// Encodes the binding as bytes. Each part has its length before it, so that no part can run into the next.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![HANDLE_VERSION, self.kind.byte()];
        for part in [self.place, self.principal, self.method, self.name] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
        bytes.extend(self.arguments.0);
        bytes
    }
}

// === impl JsonDigest ===

impl JsonDigest {
    /// The digest of a handle that belongs to no arguments.
    pub const NONE: Self = Self([0; 32]);

    /// Computes the digest of a value.
    pub fn from_json(value: &Raw) -> Self {
        let mut hash = Sha256::new();
        add(&mut hash, value);
        Self(hash.finalize().into())
    }
}

fn add(hash: &mut Sha256, value: &Raw) {
    match value.kind() {
        JsonKind::Object => {
            let mut members: Vec<_> =
                value.entries().map(|(key, value)| (text(key), value)).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            part(hash, b'{', &members.len().to_le_bytes());
            for (key, value) in members {
                part(hash, b'k', key.as_bytes());
                add(hash, &value);
            }
        }
        JsonKind::Array => {
            let elements: Vec<Raw> = value.elements().collect();
            part(hash, b'[', &elements.len().to_le_bytes());
            for element in &elements {
                add(hash, element);
            }
        }
        JsonKind::String => part(hash, b's', text(value.as_str()).as_bytes()),
        // Numbers, booleans and `null` count as they are written.
        _ => part(hash, b'v', value.as_str().as_bytes()),
    }
}

/// Decodes a JSON string; an invalid one counts as it is written.
fn text(quoted: &str) -> String {
    decode_string(quoted).map_or_else(|| quoted.to_owned(), std::borrow::Cow::into_owned)
}

fn part(hash: &mut Sha256, kind: u8, bytes: &[u8]) {
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> JsonDigest {
        JsonDigest::from_json(&Raw::parse(text.to_owned()).unwrap())
    }

    #[test]
    fn a_digest_is_of_the_value_and_not_of_its_writing() {
        for (one, other, same) in [
            (r#"{"a":1,"b":[true]}"#, r#"{ "b" : [ true ], "a" : 1 }"#, true),
            (r#"{"é":"A"}"#, r#"{"\u00e9":"\u0041"}"#, true),
            (r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#, true),
            (r"{}", r"[]", false),
            (r#"{"a":1}"#, r#"{"a":"1"}"#, false),
            (r#"{"a":null}"#, r"{}", false),
            (r"[1,2]", r"[2,1]", false),
            (r"[[1],2]", r"[[1,2]]", false),
            (r#"["ab","c"]"#, r#"["a","bc"]"#, false),
            (r#""null""#, r"null", false),
        ] {
            assert_eq!(digest(one) == digest(other), same, "{one} and {other}");
        }
    }
}
