//! Limits for results: long text goes to a file, images are scaled, binary blobs become files.
//!
//! Used by `dispatch` on every result, and by the gateway, which serves spilled results. Results within the limits
//! pass byte for byte. Text beyond them goes to a private file ([`ResultStore`]), and the result names the file.
//! Members of a result that this module does not know stay where they are.
//!
//! It does not know the caller, the server or the client: a [`ResultPolicy`] says what to do.

mod address;
mod blob;
mod content;
mod cut;
mod image;
mod note;
mod pretty;
mod size;
mod spill;
mod spill_target;
mod store;
mod text;

use std::{path::PathBuf, time::Duration};

use serde::Serialize;
use switchboard_wire::json::Raw;
use tokio::sync::Semaphore;

use crate::{EngineProblem, EngineProblemKind, catalog::Tool};

pub use address::{ResultAddress, ResultQuery};
pub use spill_target::SpillTarget;
pub use store::{LineHit, ResultSlice, ResultStore, ResultStoreError, SearchPattern};

use content::ResultContent;

/// How many characters of text a result may have.
pub const MAX_CHARS: usize = 100_000;
/// How many tokens a result may have.
pub const MAX_TOKENS: usize = 25_000;
/// How many characters a tool may ask for.
pub const MAX_TOOL_CHARS: usize = 500_000;
/// How long an image's long side may be, in pixels.
pub const MAX_IMAGE_PIXELS: u32 = 1_568;
/// How many bytes an image may have, encoded as in the result.
pub const MAX_IMAGE_BYTES: usize = 5_000_000;

/// The estimate of characters for each token.
const CHARS_PER_TOKEN: usize = 4;
/// How long writing files and scaling images may take before the result is cut instead.
const WORK_TIMEOUT: Duration = Duration::from_secs(60);
/// Each this many bytes add one second to the timeout: the rate of the slowest disk.
const MIN_DISK_BYTES_PER_SECOND: u64 = 4 * 1024 * 1024;
/// How many results are processed at once; each may be large.
static WORK_PERMITS: Semaphore = Semaphore::const_new(4);

/// The kind of a result, by its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultShape {
    /// `tools/call`: `content` and `structuredContent`.
    Tool,
    /// `resources/read`: `contents`.
    Resource,
}

/// The limits for results, and what happens beyond them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultPolicy {
    /// How many characters of text may stay.
    pub max_chars: usize,
    /// How many tokens may stay.
    pub max_tokens: usize,
    /// What happens to large images.
    pub images: ImagePolicy,
    /// What happens to binary blobs.
    pub blobs: BlobPolicy,
    /// Where text beyond the limit goes.
    pub spill: SpillMode,
    /// What happens to data for apps.
    pub app_data: AppDataPolicy,
    /// Whether the tool has an output schema. Clients check results against the schema, so with
    /// [`SpillMode::Uri`] results of this tool pass whole.
    pub has_output_schema: bool,
}

/// What happens to large images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImagePolicy {
    /// Large images are scaled down.
    Scale {
        /// The most pixels on the long side.
        pixels: u32,
        /// The most bytes, encoded.
        bytes: usize,
    },
    /// Images pass unchanged.
    Leave,
}

/// What happens to binary blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobPolicy {
    /// Blobs become files, and the result names them.
    ToDisk,
    /// Blobs pass unchanged.
    Leave,
}

/// What happens to data for MCP Apps: UI resources, and `structuredContent`, which a UI shows. Hosts do not give it to
/// a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppDataPolicy {
    /// It counts as text, like everything else.
    Limit,
    /// It passes unchanged, and the limits are for the rest.
    Leave,
}

/// Where text beyond the limit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpillMode {
    /// To a file that the result names by its path, for a reader on this machine.
    Path,
    /// To a file that the result names by a URI, for a client that can only ask Switchboard.
    Uri,
    /// Nowhere: the text is cut.
    Off,
}

/// A result after the limits were applied.
#[derive(Debug, Clone)]
pub struct LimitedResult {
    /// The result; unchanged bytes if it was within the limits.
    pub result: Raw,
    /// The note that stands in the result in place of text that was cut or spilled.
    pub note: Option<String>,
    /// The file of the spilled text.
    pub spilled: Option<SpilledFile>,
    /// How many images were scaled or removed.
    pub images_scaled: usize,
    /// Whether text was lost.
    pub truncated: bool,
    /// A problem with writing the file.
    pub problem: Option<EngineProblem>,
}

/// A spilled text or blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpilledFile {
    /// The id of the file in the store.
    pub id: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The length of the file.
    pub bytes: u64,
}

/// Applies `policy` to a result. Files and images are processed off the runtime's threads. Without a `place` no
/// files are written: text beyond the limit is cut, and blobs pass.
pub async fn limit_result(
    result: Raw,
    shape: ResultShape,
    policy: &ResultPolicy,
    place: impl FnOnce() -> Option<SpillTarget>,
) -> LimitedResult {
    if policy.surely_passes(result.as_str()) {
        return LimitedResult::whole(result);
    }
    let place = place();
    let work = {
        let (result, policy) = (result.clone(), *policy);
        async move {
            let turn = WORK_PERMITS.acquire().await;
            let work = move || {
                // The worker holds the permit, not the waiting caller: workers that hang on a disk must not pile
                // up.
                let _turn = turn;
                apply_policy(&result, shape, &policy, place.as_ref())
            };
            tokio::task::spawn_blocking(work).await
        }
    };
    let patience = WORK_TIMEOUT
        + Duration::from_secs(result.as_str().len() as u64 / MIN_DISK_BYTES_PER_SECOND);
    match Box::pin(tokio::time::timeout(patience, work)).await {
        Ok(Ok(kept)) => kept,
        Ok(Err(_)) => without_disk(&result, shape, policy, "the work on a result was given up"),
        Err(_) => without_disk(&result, shape, policy, "the disk took too long to keep a result"),
    }
}

/// Applies the whole policy on this thread.
fn apply_policy(
    result: &Raw,
    shape: ResultShape,
    policy: &ResultPolicy,
    place: Option<&SpillTarget>,
) -> LimitedResult {
    let mut kept = LimitedResult::whole(result.clone());
    let Some(mut content) = ResultContent::of(result, shape, policy.app_data) else { return kept };
    kept.images_scaled = image::fit_images(&mut content, policy.images, policy.blobs);
    if let (BlobPolicy::ToDisk, Some(place)) = (policy.blobs, place) {
        kept.problem =
            blob::spill_blobs(&mut content, place).err().map(|error| storage_problem(&error));
    }
    let size = content.size();
    if size.chars <= policy.limit() || policy.is_promised() {
        return content.with_replacements(kept);
    }
    let Some(place) = place.filter(|_| policy.spill != SpillMode::Off) else {
        return cut::cut(&content, size, policy.limit(), kept);
    };
    match spill::spill(&content, size, policy.spill, place, policy.limit()) {
        Ok((note, spilled)) => {
            kept.spilled = Some(spilled);
            content.with_note(&note, kept)
        }
        Err(error) => {
            kept.problem = Some(storage_problem(&error));
            cut::cut(&content, size, policy.limit(), kept)
        }
    }
}

/// Applies the parts of the policy that need no disk.
fn without_disk(
    result: &Raw,
    shape: ResultShape,
    policy: &ResultPolicy,
    why: &str,
) -> LimitedResult {
    let mut kept = LimitedResult::whole(result.clone());
    kept.problem = Some(EngineProblem::new(EngineProblemKind::Storage, why));
    let Some(content) = ResultContent::of(result, shape, policy.app_data) else { return kept };
    let size = content.size();
    if size.chars <= policy.limit() || policy.is_promised() {
        return kept;
    }
    cut::cut(&content, size, policy.limit(), kept)
}

fn storage_problem(error: &ResultStoreError) -> EngineProblem {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    EngineProblem::new(EngineProblemKind::Storage, format!("{error}{}", cause.unwrap_or_default()))
}

// === impl ResultPolicy ===

impl ResultPolicy {
    /// The policy for a reader on this machine, with the default limits.
    pub fn local() -> Self {
        Self {
            max_chars: MAX_CHARS,
            max_tokens: MAX_TOKENS,
            images: ImagePolicy::Scale { pixels: MAX_IMAGE_PIXELS, bytes: MAX_IMAGE_BYTES },
            blobs: BlobPolicy::ToDisk,
            spill: SpillMode::Path,
            app_data: AppDataPolicy::Limit,
            has_output_schema: false,
        }
    }

    /// The policy for clients of the gateway: text and images are limited, other data passes.
    pub fn gateway() -> Self {
        Self { blobs: BlobPolicy::Leave, spill: SpillMode::Uri, ..Self::local() }
    }

    /// The policy for clients of the gateway that take results of any size.
    pub fn unlimited() -> Self {
        Self { images: ImagePolicy::Leave, spill: SpillMode::Off, ..Self::gateway().with_tokens(0) }
    }

    /// Applies `MAX_MCP_OUTPUT_TOKENS` of the environment, unless a client of the gateway chose a limit
    /// (`--result-limit`).
    #[must_use]
    pub fn with_usual_tokens(self, tokens: usize) -> Self {
        match (self.spill, self.max_tokens, tokens) {
            (SpillMode::Uri, MAX_TOKENS, 0) => Self::unlimited(),
            (SpillMode::Path, _, tokens) | (SpillMode::Uri, MAX_TOKENS, tokens) => {
                self.with_tokens(tokens)
            }
            (SpillMode::Uri | SpillMode::Off, ..) => self,
        }
    }

    /// Applies other limits of images (`limits.imagePixels`, `limits.imageBytes`), where images are limited at all;
    /// 0 means no limit.
    #[must_use]
    pub fn with_image_limits(mut self, pixels: Option<u64>, bytes: Option<u64>) -> Self {
        if let ImagePolicy::Scale { pixels: side, bytes: size } = &mut self.images {
            let limit = |asked: u64| if asked == 0 { u64::MAX } else { asked };
            *side = pixels.map_or(*side, |asked| limit(asked).try_into().unwrap_or(u32::MAX));
            *size = bytes.map_or(*size, |asked| limit(asked).try_into().unwrap_or(usize::MAX));
        }
        self
    }

    /// Applies another limit of tokens (`MAX_MCP_OUTPUT_TOKENS`, `--result-limit`); 0 means no limit.
    #[must_use]
    pub fn with_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = if tokens == 0 { usize::MAX } else { tokens };
        // A token limit above the default raises the limit of characters too.
        self.max_chars = self.max_chars.max(self.max_tokens.saturating_mul(CHARS_PER_TOKEN));
        self
    }

    /// Applies the size that a tool asks for (`anthropic/maxResultSizeChars`), which replaces both limits.
    #[must_use]
    pub fn with_tool_chars(mut self, chars: usize) -> Self {
        self.max_chars = chars.min(MAX_TOOL_CHARS);
        self.max_tokens = usize::MAX;
        self
    }

    /// Applies the definition of a tool: the size that it asks for, and whether it has an output schema.
    #[must_use]
    pub fn for_tool(mut self, tool: &Tool) -> Self {
        self.has_output_schema = tool.output_schema.is_some();
        match tool.meta.max_result_chars {
            Some(chars) if chars > 0 => self.with_tool_chars(chars),
            _ => self,
        }
    }

    /// Returns the limit in characters.
    pub fn limit(&self) -> usize {
        self.max_chars.min(self.max_tokens.saturating_mul(CHARS_PER_TOKEN))
    }

    fn is_promised(&self) -> bool {
        self.has_output_schema && self.spill == SpillMode::Uri
    }

    /// Whether the length of the JSON shows that it is within the limits: a text has at most as many characters as
    /// its JSON has bytes.
    fn surely_passes(&self, text: &str) -> bool {
        let has = |name: &str| memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_some();
        let has_image = || has("\"data\"") || (has("\"blob\"") && has("image"));
        text.len() <= self.limit()
            && (self.images == ImagePolicy::Leave || !has_image())
            && (self.blobs == BlobPolicy::Leave || !has("\"blob\""))
    }
}

// === impl LimitedResult ===

impl LimitedResult {
    fn whole(result: Raw) -> Self {
        Self {
            result,
            note: None,
            spilled: None,
            images_scaled: 0,
            truncated: false,
            problem: None,
        }
    }
}
