//! One list of tools, prompts and resources out of many servers, with names that are exact both ways.
//!
//! What a server sent becomes [`Lists`]: items that can be used, and problems beside them ([`tools`], [`prompts`],
//! [`resources`], [`templates`]). [`Catalog::compose`] puts the lists of all servers together for one view.
//!
//! Everything here is a value made from values. This module refuses to know connections, clocks and permissions: what
//! a view hides is asked of whoever made the view.

mod annotations;
pub(crate) mod authenticate;
mod compose;
mod contents;
mod fault;
pub mod instructions;
mod lists;
pub mod mention;
mod named;
mod names;
mod parsed;
mod prompt;
mod reader;
mod resource;
mod search;
mod suggest;
mod template;
mod text;
mod told;
mod tool;
mod tool_shape;
mod words;

pub use annotations::ToolAnnotations;
pub use compose::{CatalogMember, CatalogView};
pub use contents::{Catalog, ListedPrompt, ListedResource, ListedTemplate, ListedTool};
pub use fault::{ItemFault, ItemWarning};
pub use lists::ServerLists;
pub use named::CatalogNames;
pub use names::{
    ConfiguredServer, ItemLabel, NameCollisions, NameStyle, ServerName, normalize_configured_server,
};
pub use parsed::ParsedList;
pub use prompt::{Prompt, PromptArgument, parse_prompts};
pub use resource::{Resource, ResourceTemplate, parse_resources, parse_templates};
pub use search::ToolHit;
pub use template::{TemplateError, UriTemplate};
pub use told::{RemoteCatalog, RemoteCatalogItem, RemoteCatalogServer};
pub use tool::{SchemaCheck, Tool, ToolMeta, parse_tools};
