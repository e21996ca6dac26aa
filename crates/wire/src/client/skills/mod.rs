//! Skills, of the extension `io.modelcontextprotocol/skills`: instructions and files that a server offers as
//! resources, each with its length and digest.
//!
//! Used by programs on this crate; the gateway only forwards skills (`gateway::bridge::skills`). [`list_skills`] and
//! [`get_skill`] read no file. [`Skill::load`] reads a skill's `SKILL.md`; [`LoadedSkill::read`] reads its other
//! files, one by one. Each file is compared with the server's announcement and refused with [`Error::Skill`] if it
//! differs: a person may have approved the announcement.
//!
//! ```no_run
//! # async fn example(client: &switchboard_wire::client::Client) -> Result<(), switchboard_wire::Error> {
//! use switchboard_wire::client::skills;
//!
//! for skill in skills::list_skills(client).await?.skills {
//!     println!("{}: {}", skill.name(), skill.description());
//! }
//! let skill = skills::get_skill(client, "skill://pdf-processing/SKILL.md").await?;
//! let loaded = skill.load(client).await?;
//! println!("{}", loaded.text());
//! let forms = loaded.read(client, "skill://pdf-processing/references/FORMS.md").await?;
//! # Ok(())
//! # }
//! ```

mod front_matter;
mod skill;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

pub use skill::{Skill, SkillDigest, SkillFile, SkillFiles};

use super::{CallRequest, Client, ExcludedItem, ListTruncation};
use crate::{
    Error,
    json::{Raw, quote},
    meta::{SKILLS_EXTENSION, method},
};

/// The skills that a server lists.
#[derive(Debug, Clone)]
pub struct SkillListing {
    /// The skills.
    pub skills: Vec<Skill>,
    /// Entries that break the rules of the extension, and why. `name` is the entry's URI, as far as it has one.
    pub excluded: Vec<ExcludedItem>,
    /// Why the list is incomplete, if it is.
    pub cut_short: Option<ListTruncation>,
}

/// A skill with its `SKILL.md`, which matches the announcement.
#[derive(Debug, Clone)]
pub struct LoadedSkill {
    skill: Skill,
    text: String,
}

/// How a skill differs from its announcement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillMismatch {
    /// The file's length differs.
    #[error("it has {received} bytes instead of {announced}")]
    Size {
        /// The announced length.
        announced: u64,
        /// The received length.
        received: u64,
    },
    /// The file's digest differs.
    #[error("its digest is {received} instead of {announced}")]
    Digest {
        /// The announced digest.
        announced: SkillDigest,
        /// The received digest.
        received: SkillDigest,
    },
    /// The front matter differs.
    #[error("its front matter has another `{field}`")]
    FrontMatter {
        /// The first field that differs.
        field: String,
    },
    /// The front matter cannot be parsed.
    #[error("its front matter cannot be read: {reason}")]
    NoFrontMatter {
        /// The fault of the front matter.
        reason: String,
    },
    /// The file is not in the skill's list of files.
    #[error("it is not among the skill's files")]
    NotListed,
    /// The resource has no content, or content that cannot be decoded.
    #[error("it has no content that can be read")]
    NoContent,
}

/// Reads the list of skills, page by page, without reading their files.
pub async fn list_skills(client: &Client) -> Result<SkillListing, Error> {
    check_offered(client)?;
    let list = client.session().read_list(method::SKILLS_LIST, "skills").await?;
    let mut listing =
        SkillListing { skills: Vec::new(), excluded: Vec::new(), cut_short: list.cut_short };
    for entry in &list.items {
        match Skill::from_entry(entry) {
            Ok(skill) => listing.skills.push(skill),
            Err(reason) => {
                let uri = entry.get("uri").ok().flatten();
                let name = uri.and_then(|uri| uri.to_text()).unwrap_or_default();
                tracing::warn!(skill = %name, %reason, "a skill was left out");
                listing.excluded.push(ExcludedItem { name, reason });
            }
        }
    }
    Ok(listing)
}

/// Reads one skill by the URI of its `SKILL.md`, which need not be in the list.
pub async fn get_skill(client: &Client, uri: &str) -> Result<Skill, Error> {
    check_offered(client)?;
    let params = Raw::from_trusted(format!(r#"{{"uri":{}}}"#, quote(uri)).into());
    let result = client.request(method::SKILLS_GET, Some(&params)).await?;
    let invalid = |reason: &str| Error::invalid(method::SKILLS_GET, reason);
    let entry = result.get("skill").ok().flatten();
    let entry = entry.ok_or_else(|| invalid("it has no `skill`"))?;
    let skill = Skill::from_entry(&entry).map_err(|reason| invalid(&reason))?;
    if skill.uri() != uri {
        return Err(invalid("it is another skill"));
    }
    Ok(skill)
}

fn check_offered(client: &Client) -> Result<(), Error> {
    if client.server_facts().has_capability(&["extensions", SKILLS_EXTENSION]) {
        return Ok(());
    }
    Err(Error::NotOffered { what: SKILLS_EXTENSION })
}

// === impl Skill ===

impl Skill {
    /// Reads the skill's `SKILL.md` only, and compares it with the announcement: length and digest if announced, and
    /// each field of the front matter.
    pub async fn load(&self, client: &Client) -> Result<LoadedSkill, Error> {
        let bytes = self.fetch(client, self.uri()).await?;
        match self.check_manifest(bytes) {
            Ok(text) => Ok(LoadedSkill { skill: self.clone(), text }),
            Err(mismatch) => Err(self.refuse(self.uri(), mismatch)),
        }
    }

    /// The text of the skill's `SKILL.md` in a result of `resources/read`, compared with the announcement like
    /// [`Skill::load`] does.
    pub fn manifest(&self, result: &Raw) -> Result<String, SkillMismatch> {
        let file = self.announced(self.uri())?;
        self.check_manifest(verified_content(result, self.uri(), file)?)
    }

    fn check_manifest(&self, bytes: Vec<u8>) -> Result<String, SkillMismatch> {
        let text = String::from_utf8(bytes).map_err(|_| SkillMismatch::NoContent)?;
        let fields =
            front_matter::read(&text).map_err(|reason| SkillMismatch::NoFrontMatter { reason })?;
        match front_matter::different_field(&fields, self.fields()) {
            Some(field) => Err(SkillMismatch::FrontMatter { field }),
            None => Ok(text),
        }
    }

    /// The announcement of a file; `None` for a file of a dynamic skill.
    fn announced(&self, uri: &str) -> Result<Option<&SkillFile>, SkillMismatch> {
        match self.files() {
            SkillFiles::Listed(files) => {
                let file = files.iter().find(|file| file.uri == uri);
                file.map(Some).ok_or(SkillMismatch::NotListed)
            }
            SkillFiles::Dynamic if self.contains(uri) => Ok(None),
            SkillFiles::Dynamic => Err(SkillMismatch::NotListed),
        }
    }

    /// Reads one file and compares it with its announcement.
    async fn fetch(&self, client: &Client, uri: &str) -> Result<Vec<u8>, Error> {
        let refuse = |mismatch| self.refuse(uri, mismatch);
        let file = self.announced(uri).map_err(refuse)?;
        let timeout = client.session().options.request_timeout;
        let call = CallRequest::read_resource(uri).with_timeout(timeout);
        let result = client.call(call).result().await?;
        verified_content(&result, uri, file).map_err(refuse)
    }

    fn refuse(&self, uri: &str, mismatch: SkillMismatch) -> Error {
        Error::Skill { name: self.name().to_owned(), uri: uri.to_owned(), mismatch }
    }
}

// === impl SkillFile ===

impl SkillFile {
    /// Checks bytes against the announced length and digest.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), SkillMismatch> {
        let received = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if received != self.size {
            return Err(SkillMismatch::Size { announced: self.size, received });
        }
        let received = SkillDigest::from(<[u8; 32]>::from(Sha256::digest(bytes)));
        if received != self.digest {
            return Err(SkillMismatch::Digest { announced: self.digest, received });
        }
        Ok(())
    }
}

/// The content of a file in a result of `resources/read`, compared with its announcement.
fn verified_content(
    result: &Raw,
    uri: &str,
    file: Option<&SkillFile>,
) -> Result<Vec<u8>, SkillMismatch> {
    let bytes = content(result, uri).ok_or(SkillMismatch::NoContent)?;
    file.map_or(Ok(()), |file| file.verify(&bytes))?;
    Ok(bytes)
}

/// The content of a resource in a result of `resources/read`.
fn content(result: &Raw, uri: &str) -> Option<Vec<u8>> {
    let contents = result.get("contents").ok()??;
    let text = |item: &Raw, key: &str| item.get(key).ok()??.to_text();
    let item = contents.elements().find(|item| text(item, "uri").as_deref() == Some(uri))?;
    match text(&item, "text") {
        Some(text) => Some(text.into_bytes()),
        None => STANDARD.decode(text(&item, "blob")?).ok(),
    }
}

// === impl LoadedSkill ===

impl LoadedSkill {
    /// The skill as announced.
    pub fn skill(&self) -> &Skill {
        &self.skill
    }

    /// The whole of `SKILL.md`, front matter included.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads one of the skill's files, by its URI. The files of a [`SkillFiles::Dynamic`] skill have no announcement
    /// to compare with.
    pub async fn read(&self, client: &Client, uri: &str) -> Result<Vec<u8>, Error> {
        self.skill.fetch(client, uri).await
    }
}
