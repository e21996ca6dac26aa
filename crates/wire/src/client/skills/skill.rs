//! The announcement of a skill: URI, front matter, files and digests, with the rules it must obey.
//!
//! Used by `skills`. It reads no files and compares none (`skills::Skill::load`).

use std::{collections::HashSet, fmt, str::FromStr};

use serde_json::{Map, Value};

use crate::json::{JsonKind, Raw};

const MANIFEST_SUFFIX: &str = "/SKILL.md";

/// A skill as its server announces it.
#[derive(Debug, Clone)]
pub struct Skill {
    uri: String,
    name: String,
    description: String,
    front_matter: Raw,
    fields: Map<String, Value>,
    files: SkillFiles,
}

/// The announced files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillFiles {
    /// The complete list, including `SKILL.md`.
    Listed(Vec<SkillFile>),
    /// No list: the server generates files on demand.
    Dynamic,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// The URI to read.
    pub uri: String,
    /// The digest of its bytes.
    pub digest: SkillDigest,
    /// The number of its bytes.
    pub size: u64,
}

/// A SHA-256 digest; as text, `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SkillDigest([u8; 32]);

// === impl Skill ===

impl Skill {
    /// The URI of its `SKILL.md`, unique within the server.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Its name, which is also the name of its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its front matter, unchanged.
    pub fn front_matter(&self) -> &Raw {
        &self.front_matter
    }

    /// Its files.
    pub fn files(&self) -> &SkillFiles {
        &self.files
    }

    pub(super) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Whether `uri` is within the skill's folder.
    pub(super) fn contains(&self, uri: &str) -> bool {
        is_within(uri, folder(&self.uri).unwrap_or_default())
    }

    /// Reads an entry of `skills/list`. The error says which rule the entry breaks.
    pub fn from_entry(entry: &Raw) -> Result<Self, String> {
        let uri = text(entry, "uri")?;
        let folder = folder(&uri).ok_or("`uri` is not that of a SKILL.md")?;
        let front_matter = member(entry, "frontmatter")?;
        let name = text(&front_matter, "name")?;
        let description = text(&front_matter, "description")?;
        if folder.rsplit('/').next() != Some(name.as_str()) {
            return Err("its folder is not named after it".into());
        }
        let fields = front_matter.decode().map_err(|_| "`frontmatter` is no object")?;
        let files = read_files(&member(entry, "resources")?, &uri, folder)?;
        Ok(Self { uri, name, description, front_matter, fields, files })
    }
}

fn read_files(resources: &Raw, uri: &str, folder: &str) -> Result<SkillFiles, String> {
    if resources.as_str() == "\"dynamic\"" {
        return Ok(SkillFiles::Dynamic);
    }
    if resources.kind() != JsonKind::Array {
        return Err("`resources` is no list".into());
    }
    let files: Vec<SkillFile> =
        resources.elements().map(|file| SkillFile::read(&file)).collect::<Result<_, _>>()?;
    let mut seen = HashSet::new();
    for file in &files {
        if !is_within(&file.uri, folder) {
            return Err(format!("`{}` is not in its folder", file.uri));
        }
        if !seen.insert(file.uri.as_str()) {
            return Err(format!("`{}` is listed twice", file.uri));
        }
    }
    if !seen.contains(uri) {
        return Err("its own SKILL.md is not among its files".into());
    }
    Ok(SkillFiles::Listed(files))
}

/// The folder of a `SKILL.md`.
fn folder(uri: &str) -> Option<&str> {
    let folder = uri.strip_suffix(MANIFEST_SUFFIX)?;
    let path = folder.split_once("://")?.1;
    (!path.is_empty() && !goes_up(path)).then_some(folder)
}

fn is_within(uri: &str, folder: &str) -> bool {
    let inner = uri.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    inner.is_some_and(|inner| !inner.is_empty() && !goes_up(inner))
}

/// Whether a path has a step that leaves its folder.
fn goes_up(path: &str) -> bool {
    let is_dots =
        |step: &str| matches!(step.replace("%2E", ".").replace("%2e", ".").as_str(), "." | "..");
    path.split('/').any(is_dots)
}

fn member(raw: &Raw, key: &str) -> Result<Raw, String> {
    let found = raw.get(key).map_err(|error| error.to_string())?;
    found.ok_or_else(|| format!("it has no `{key}`"))
}

fn text(raw: &Raw, key: &str) -> Result<String, String> {
    let text = member(raw, key)?.to_text().filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("`{key}` is no text"))
}

// === impl SkillFile ===

impl SkillFile {
    fn read(raw: &Raw) -> Result<Self, String> {
        let uri = text(raw, "uri")?;
        let digest = text(raw, "digest")?
            .parse()
            .map_err(|()| format!("the digest of `{uri}` is not one of SHA-256"))?;
        let size = member(raw, "size")?
            .decode()
            .map_err(|_| format!("the size of `{uri}` is no number of bytes"))?;
        Ok(Self { uri, digest, size })
    }
}

// === impl SkillDigest ===

impl From<[u8; 32]> for SkillDigest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl FromStr for SkillDigest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let hex = text.strip_prefix("sha256:").ok_or(())?.as_bytes();
        let (pairs, []) = hex.as_chunks::<2>() else {
            return Err(());
        };
        let bytes: Vec<u8> = pairs
            .iter()
            .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
            .collect::<Option<_>>()
            .ok_or(())?;
        bytes.try_into().map(Self).map_err(|_| ())
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for SkillDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SkillDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn entry(uri: &str, front_matter: &str, resources: &str) -> Result<Skill, String> {
        let text =
            format!(r#"{{"uri":"{uri}","frontmatter":{front_matter},"resources":{resources}}}"#);
        Skill::from_entry(&Raw::parse(text).unwrap())
    }

    fn file(uri: &str) -> String {
        format!(r#"{{"uri":"{uri}","digest":"{DIGEST}","size":0}}"#)
    }

    const FRONT_MATTER: &str = r#"{"name":"pdf","description":"d","license":"MIT"}"#;

    #[test]
    fn a_good_entry() {
        let own = file("skill://acme/pdf/SKILL.md");
        let other = file("skill://acme/pdf/a/b.md");
        let listed = format!("[{own},{other}]");
        let skill = entry("skill://acme/pdf/SKILL.md", FRONT_MATTER, &listed).unwrap();
        assert_eq!((skill.name(), skill.description()), ("pdf", "d"));
        let SkillFiles::Listed(files) = skill.files() else { panic!("{:?}", skill.files()) };
        assert_eq!(files[1].digest.to_string(), DIGEST);
        assert_eq!(files[1].verify(b""), Ok(()));
        let dynamic = entry("skill://pdf/SKILL.md", FRONT_MATTER, "\"dynamic\"").unwrap();
        assert_eq!(dynamic.files(), &SkillFiles::Dynamic);
        assert!(dynamic.contains("skill://pdf/x.md"));
        assert!(!dynamic.contains("skill://pdf/../x.md"));
        assert!(!dynamic.contains("skill://pdfs/x.md"));
    }

    #[test]
    fn entries_that_break_the_rules() {
        let uri = "skill://pdf/SKILL.md";
        let own = file(uri);
        let check = |uri: &str, front_matter: &str, resources: &str, reason: &str| {
            assert_eq!(entry(uri, front_matter, resources).unwrap_err(), reason);
        };
        let good = format!("[{own}]");
        check("skill://pdf/README.md", FRONT_MATTER, &good, "`uri` is not that of a SKILL.md");
        check("skill://pdf/../SKILL.md", FRONT_MATTER, &good, "`uri` is not that of a SKILL.md");
        check("skill://doc/SKILL.md", FRONT_MATTER, &good, "its folder is not named after it");
        check(uri, r#"{"name":"pdf"}"#, &good, "it has no `description`");
        check(uri, "[]", &good, "it has no `name`");
        check(uri, FRONT_MATTER, "{}", "`resources` is no list");
        check(uri, FRONT_MATTER, "[]", "its own SKILL.md is not among its files");
        let twice = format!("[{own},{own}]");
        check(uri, FRONT_MATTER, &twice, "`skill://pdf/SKILL.md` is listed twice");
        let outside = format!("[{own},{}]", file("skill://pdf/%2e%2E/x"));
        check(uri, FRONT_MATTER, &outside, "`skill://pdf/%2e%2E/x` is not in its folder");
        let digest = good.replace("sha256:e", "sha256:E");
        check(
            uri,
            FRONT_MATTER,
            &digest,
            "the digest of `skill://pdf/SKILL.md` is not one of SHA-256",
        );
        let size = good.replace("\"size\":0", "\"size\":-1");
        check(uri, FRONT_MATTER, &size, "the size of `skill://pdf/SKILL.md` is no number of bytes");
    }
}
