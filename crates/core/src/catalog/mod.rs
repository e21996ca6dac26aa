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

pub use annotations::Annotations;
pub use compose::{Member, View};
pub use contents::{Catalog, Listed, ListedPrompt, ListedResource, ListedTemplate};
pub use fault::{Fault, Imperfection};
pub use lists::Lists;
pub use named::Named;
pub use names::{Configured, Label, Neighbours, ServerName, Style, normal_server};
pub use parsed::Parsed;
pub use prompt::{Argument, Prompt, prompts};
pub use resource::{Resource, Template, resources, templates};
pub use search::Hit;
pub use template::{BadTemplate, UriTemplate};
pub use told::{Told, ToldItem, ToldServer};
pub use tool::{SchemaCheck, Tool, ToolMeta, tools};
