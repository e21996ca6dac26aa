//! Resources, and templates of their addresses.
//!
//! An address belongs to the server that made it up: it is compared as text and never changed.

use switchboard_wire::{client::FetchedList, json::Raw};

use super::{
    item_fault::{ItemFault, ItemWarning},
    item_reader::ItemReader,
    item_shape,
    parsed_list::{self, ListItem, ParsedList},
    template::UriTemplate,
};

/// Something that can be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// What it holds, at most 2,048 characters.
    pub description: Option<String>,
    /// What kind of content it has.
    pub mime_type: Option<String>,
    /// How long it is, in bytes.
    pub size: Option<u64>,
    /// The item as sent, with clean words, and without what makes clients refuse a whole list.
    pub item: Raw,
    /// What is wrong with it; it is listed all the same.
    pub imperfections: Vec<ItemWarning>,
}

/// A family of things that can be read.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceTemplate {
    /// What their addresses look like.
    pub uri_template: UriTemplate,
    /// What they are called.
    pub name: String,
    /// What a person calls them.
    pub title: Option<String>,
    /// What they hold, at most 2,048 characters.
    pub description: Option<String>,
    /// What kind of content they all have.
    pub mime_type: Option<String>,
    /// The item as sent, with clean words, and without what makes clients refuse a whole list.
    pub item: Raw,
    /// What is wrong with it; it is listed all the same.
    pub imperfections: Vec<ItemWarning>,
}

/// The resources of a list.
pub fn parse_resources(server: &str, listing: &FetchedList) -> ParsedList<Resource> {
    parsed_list::parse_list(server, listing, Resource::parse)
}

/// The templates of a list.
pub fn parse_templates(server: &str, listing: &FetchedList) -> ParsedList<ResourceTemplate> {
    parsed_list::parse_list(server, listing, ResourceTemplate::parse)
}

// === impl Resource ===

impl Resource {
    /// Reads one resource.
    pub fn parse(item: &Raw) -> Result<Self, ItemFault> {
        let mut reader = ItemReader::of(item)?;
        let size = reader.optional(&["size"], |reader, path| reader.fit(path, item_shape::is_size));
        item_shape::resource_annotations(&mut reader);
        item_shape::common_members(&mut reader);
        Ok(Self {
            uri: reader.address("uri")?,
            name: reader.line(&["name"])?.ok_or(ItemFault::Missing("name"))?,
            title: reader.optional(&["title"], ItemReader::line),
            description: reader.optional(&["description"], ItemReader::block),
            mime_type: reader.optional(&["mimeType"], ItemReader::line),
            size: size.and_then(|size| size.decode().ok()),
            imperfections: std::mem::take(reader.imperfections()),
            item: reader.finish()?,
        })
    }
}

impl ListItem for Resource {
    const NOUN: &'static str = "resource";
    const KEY: &'static str = "uri";

    fn key(&self) -> &str {
        &self.uri
    }

    fn imperfections(&self) -> &[ItemWarning] {
        &self.imperfections
    }
}

// === impl ResourceTemplate ===

impl ResourceTemplate {
    /// Reads one template.
    pub fn parse(item: &Raw) -> Result<Self, ItemFault> {
        let mut reader = ItemReader::of(item)?;
        item_shape::resource_annotations(&mut reader);
        item_shape::common_members(&mut reader);
        Ok(Self {
            uri_template: UriTemplate::parse(&reader.address("uriTemplate")?)?,
            name: reader.line(&["name"])?.ok_or(ItemFault::Missing("name"))?,
            title: reader.optional(&["title"], ItemReader::line),
            description: reader.optional(&["description"], ItemReader::block),
            mime_type: reader.optional(&["mimeType"], ItemReader::line),
            imperfections: std::mem::take(reader.imperfections()),
            item: reader.finish()?,
        })
    }
}

impl ListItem for ResourceTemplate {
    const NOUN: &'static str = "template";
    const KEY: &'static str = "uriTemplate";

    fn key(&self) -> &str {
        self.uri_template.as_str()
    }

    fn imperfections(&self) -> &[ItemWarning] {
        &self.imperfections
    }
}
