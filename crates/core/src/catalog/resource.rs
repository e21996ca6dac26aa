//! Resources and resource templates of a server: their definitions, checked and sanitized.
//!
//! Made from `resources/list` and `resources/templates/list` by `engine::supervisor::parse`; used by
//! `catalog::compose`. A URI belongs to its server: it is compared as text and never changed. It does not read
//! resources (`dispatch::prompts_and_resources` does).

use switchboard_wire::{client::FetchedList, json::Raw};

use super::{
    item_fault::{ItemFault, ItemWarning},
    item_reader::ItemReader,
    item_shape,
    parsed_list::{self, ListItem, ParsedList},
    template::TemplateMatcher,
};

/// A resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The server's name for the resource.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The description, at most 2,048 characters.
    pub description: Option<String>,
    /// The MIME type.
    pub mime_type: Option<String>,
    /// The size in bytes.
    pub size: Option<u64>,
    /// The item as sent, with sanitized texts, and without members for which clients refuse a whole list.
    pub item: Raw,
    /// Faults of the resource; it is still listed.
    pub imperfections: Vec<ItemWarning>,
}

/// A resource template.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceTemplate {
    /// The template of the URIs.
    pub uri_template: TemplateMatcher,
    /// The server's name for the template.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The description, at most 2,048 characters.
    pub description: Option<String>,
    /// The MIME type of all resources of the template.
    pub mime_type: Option<String>,
    /// The item as sent, with sanitized texts, and without members for which clients refuse a whole list.
    pub item: Raw,
    /// Faults of the template; it is still listed.
    pub imperfections: Vec<ItemWarning>,
}

/// Parses the resources of a list.
pub fn parse_resources(server: &str, listing: &FetchedList) -> ParsedList<Resource> {
    parsed_list::parse_list(server, listing, Resource::parse)
}

/// Parses the templates of a list.
pub fn parse_templates(server: &str, listing: &FetchedList) -> ParsedList<ResourceTemplate> {
    parsed_list::parse_list(server, listing, ResourceTemplate::parse)
}

// === impl Resource ===

impl Resource {
    /// Parses one resource.
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
    /// Parses one template.
    pub fn parse(item: &Raw) -> Result<Self, ItemFault> {
        let mut reader = ItemReader::of(item)?;
        item_shape::resource_annotations(&mut reader);
        item_shape::common_members(&mut reader);
        Ok(Self {
            uri_template: TemplateMatcher::parse(&reader.address("uriTemplate")?)?,
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
