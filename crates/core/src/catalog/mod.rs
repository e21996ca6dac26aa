//! The catalog: tools, prompts and resources of many servers in one list, with names that are exact both ways.
//!
//! Used by `engine::snapshot::build`, which composes it; by `dispatch`, which looks names up; and by the gateway,
//! the commands and the terminal UI, which show it. [`parse_tools`], [`parse_prompts`], [`parse_resources`] and
//! [`parse_templates`] turn the lists of a server into usable items and problems ([`ServerLists`]).
//! [`Catalog::compose`] merges the lists of all servers for one view.
//!
//! Everything in it is a value made from values. It does not know connections, clocks or permissions: the caller
//! passes in which servers and tools a view hides.

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
mod tool_ui;
mod word_split;

pub use annotations::ToolAnnotations;
pub use catalog_names::CatalogNames;
pub use compose::{CatalogMember, CatalogView};
pub use contents::{Catalog, ListedPrompt, ListedResource, ListedTemplate, ListedTool};
pub use item_fault::{ItemFault, ItemWarning};
pub use lists::{ListMembers, ServerLists};
pub use names::{
    ConfiguredServer, ItemLabel, NameCollisions, NameStyle, ServerName, normalize_configured_server,
};
pub use parsed_list::ParsedList;
pub use prompt::{Prompt, PromptArgument, parse_prompts};
pub use remote::{RemoteCatalog, RemoteCatalogItem, RemoteCatalogServer};
pub use resource::{Resource, ResourceTemplate, parse_resources, parse_templates};
pub use search::ToolHit;
pub use template::{TemplateError, TemplateMatcher};
pub use tool::{SchemaCheck, Tool, ToolMeta, parse_tools};
pub use tool_ui::{ToolUi, ToolVisibility, UI_MIME_TYPE, is_ui_uri};
