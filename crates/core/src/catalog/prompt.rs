//! A prompt: a text a server has ready, with blanks to fill in.

use switchboard_wire::{client::FetchedList, json::Raw};

use super::{
    item_fault::{ItemFault, ItemWarning},
    item_reader::ItemReader,
    item_shape,
    parsed_list::{self, ListItem, ParsedList},
};

/// A prompt that can be asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Its name as the server knows it; never shown without cleaning.
    pub name: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// What it is for, at most 2,048 characters.
    pub description: Option<String>,
    /// The blanks to fill in, in order.
    pub arguments: Vec<PromptArgument>,
    /// The item as sent, with clean words, and without what makes clients refuse a whole list.
    pub item: Raw,
    /// What is wrong with it; it is listed all the same.
    pub imperfections: Vec<ItemWarning>,
}

/// A blank of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name as the server knows it.
    pub name: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// What belongs there.
    pub description: Option<String>,
    /// Whether it may be left out.
    pub required: bool,
}

/// The prompts of a list.
pub fn parse_prompts(server: &str, listing: &FetchedList) -> ParsedList<Prompt> {
    parsed_list::parse_list(server, listing, Prompt::parse)
}

// === impl Prompt ===

impl Prompt {
    /// Reads one prompt.
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
    /// Reads one, and gives it back with clean words. Adds what had to be left out to `imperfections`.
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
