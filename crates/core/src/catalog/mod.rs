//! One list of tools, prompts and resources out of many servers, with names that are exact both ways.
//!
//! What a server sent becomes [`ServerLists`]: items that can be used, and problems beside them ([`parse_tools`], [`parse_prompts`],
//! [`parse_resources`], [`parse_templates`]). [`Catalog::compose`] puts the lists of all servers together for one view.
//!
//! Everything here is a value made from values. This module refuses to know connections, clocks and permissions: what
//! a view hides is asked of whoever made the view.

mod annotations;
pub(crate) mod authenticate;
mod catalog_names;
mod compose;
mod contents;
pub mod instructions;
mod item_fault;
mod item_reader;
mod item_shape;
mod lists;
pub mod mention;
mod names;
mod parsed_list;
mod prompt;
mod remote;
mod resource;
mod search;
mod suggest;
mod template;
mod text;
mod tool;
mod tool_shape;
mod word_split;

pub use annotations::ToolAnnotations;
pub use catalog_names::CatalogNames;
pub use compose::{CatalogMember, CatalogView};
pub use contents::{Catalog, ListedPrompt, ListedResource, ListedTemplate, ListedTool};
pub use item_fault::{ItemFault, ItemWarning};
pub use lists::ServerLists;
pub use names::{
    ConfiguredServer, ItemLabel, NameCollisions, NameStyle, ServerName, normalize_configured_server,
};
pub use parsed_list::ParsedList;
pub use prompt::{Prompt, PromptArgument, parse_prompts};
pub use remote::{RemoteCatalog, RemoteCatalogItem, RemoteCatalogServer};
pub use resource::{Resource, ResourceTemplate, parse_resources, parse_templates};
pub use search::ToolHit;
pub use template::{TemplateError, UriTemplate};
pub use tool::{SchemaCheck, Tool, ToolMeta, parse_tools};
