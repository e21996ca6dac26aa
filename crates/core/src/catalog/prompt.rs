//! A prompt of a server: its definition, checked and sanitized.
//!
//! Made from `prompts/list` by `engine::supervisor::parse`; used by `catalog::compose`. It does not get a prompt's
//! text (`dispatch::prompts_and_resources` does).

use switchboard_wire::{client::FetchedList, json::Raw};

use super::{
    item_fault::{ItemFault, ItemWarning},
    item_reader::ItemReader,
    item_shape,
    parsed_list::{self, ListItem, ParsedList},
};

/// A prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The server's name for the prompt; not sanitized, so never shown as it is.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The description, at most 2,048 characters.
    pub description: Option<String>,
    /// The arguments, in order.
    pub arguments: Vec<PromptArgument>,
    /// The item as sent, with sanitized texts, and without members for which clients refuse a whole list.
    pub item: Raw,
    /// Faults of the prompt; it is still listed.
    pub imperfections: Vec<ItemWarning>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// The server's name for the argument.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Whether the argument is required.
    pub required: bool,
}

/// Parses the prompts of a list.
pub fn parse_prompts(server: &str, listing: &FetchedList) -> ParsedList<Prompt> {
    parsed_list::parse_list(server, listing, Prompt::parse)
}

// === impl Prompt ===

impl Prompt {
    /// Parses one prompt.
    pub fn parse(item: &Raw) -> Result<Self, ItemFault> {
        let mut reader = ItemReader::of(item)?;
        let sent = reader.list(&["arguments"])?;
        let (mut arguments, mut clean) = (Vec::new(), Vec::new());
        for argument in &sent {
            let (argument, item) = PromptArgument::parse(argument, reader.imperfections())?;
            arguments.push(argument);
            clean.push(item);
        }
        if clean != sent {
            let texts: Vec<_> = clean.iter().map(Raw::as_str).collect();
            reader.replace(&["arguments"], format!("[{}]", texts.join(",")));
        }
        item_shape::common_members(&mut reader);
        Ok(Self {
            name: reader.identity("name")?,
            title: reader.optional(&["title"], ItemReader::line),
            description: reader.optional(&["description"], ItemReader::block),
            arguments,
            imperfections: std::mem::take(reader.imperfections()),
            item: reader.finish()?,
        })
    }
}

impl ListItem for Prompt {
    const NOUN: &'static str = "prompt";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }

    fn imperfections(&self) -> &[ItemWarning] {
        &self.imperfections
    }
}

// === impl PromptArgument ===

impl PromptArgument {
    /// Parses one argument, and returns it with sanitized texts. Adds warnings about removed members to
    /// `imperfections`.
    fn parse(item: &Raw, imperfections: &mut Vec<ItemWarning>) -> Result<(Self, Raw), ItemFault> {
        let mut reader = ItemReader::of(item)?;
        let argument = Self {
            name: reader.identity("name")?,
            title: reader.optional(&["title"], ItemReader::line),
            description: reader.optional(&["description"], ItemReader::block),
            required: reader.optional(&["required"], ItemReader::flag).unwrap_or(false),
        };
        imperfections.append(reader.imperfections());
        Ok((argument, reader.finish()?))
    }
}
