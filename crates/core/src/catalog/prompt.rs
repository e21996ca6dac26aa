//! A prompt: a text a server has ready, with blanks to fill in.

use switchboard_wire::{client::FetchedList, json::Raw};

use super::{
    item_fault::ItemFault,
    item_reader::ItemReader,
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
    /// The item as sent, with clean words.
    pub item: Raw,
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
        let read: Vec<_> = sent.iter().map(PromptArgument::parse).collect::<Result<_, _>>()?;
        let (arguments, clean): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        if clean != sent {
            let texts: Vec<_> = clean.iter().map(Raw::as_str).collect();
            reader.replace(&["arguments"], format!("[{}]", texts.join(",")));
        }
        Ok(Self {
            name: reader.identity("name")?,
            title: reader.line(&["title"])?,
            description: reader.block(&["description"])?,
            arguments,
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
}

// === impl Argument ===

impl PromptArgument {
    /// Reads one, and gives it back with clean words.
    fn parse(item: &Raw) -> Result<(Self, Raw), ItemFault> {
        let mut reader = ItemReader::of(item)?;
        let required = reader.present(&["required"])?;
        let argument = Self {
            name: reader.identity("name")?,
            title: reader.line(&["title"])?,
            description: reader.block(&["description"])?,
            required: required.is_some_and(|required| required.as_str() == "true"),
        };
        Ok((argument, reader.finish()?))
    }
}
