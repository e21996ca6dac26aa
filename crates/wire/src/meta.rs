//! Names of the protocol: `_meta` keys, extensions and methods.
//!
//! Used by every module that reads or writes a message. It does not hold HTTP header names (`client::headers` does).

/// Both eras: the token under which the client wants progress.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// Modern: the protocol version of a request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Modern: the client's name and version.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Modern: the client's capabilities.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Modern: the least severe log level wanted for a request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Modern: the listen request that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Modern: the server's name and version.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// 2025-11-25: the task that a message belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The tasks extension of the modern era.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// The skills extension of the modern era.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";
/// MCP Apps: user interfaces of servers, shown by the client.
pub const UI_EXTENSION: &str = "io.modelcontextprotocol/ui";

/// Methods named in more than one place.
#[expect(missing_docs, reason = "each constant is the method it spells")]
pub mod method {
    use std::borrow::Cow;

    pub const INITIALIZE: &str = "initialize";
    pub const INITIALIZED: &str = "notifications/initialized";
    pub const DISCOVER: &str = "server/discover";
    pub const PING: &str = "ping";
    pub const TOOLS_LIST: &str = "tools/list";
    pub const TOOLS_CALL: &str = "tools/call";
    pub const PROMPTS_LIST: &str = "prompts/list";
    pub const PROMPTS_GET: &str = "prompts/get";
    pub const RESOURCES_LIST: &str = "resources/list";
    pub const RESOURCES_READ: &str = "resources/read";
    pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
    pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
    pub const TEMPLATES_LIST: &str = "resources/templates/list";
    pub const SKILLS_LIST: &str = "skills/list";
    pub const SKILLS_GET: &str = "skills/get";
    pub const DIRECTORY_READ: &str = "resources/directory/read";
    pub const COMPLETE: &str = "completion/complete";
    pub const SET_LEVEL: &str = "logging/setLevel";
    pub const LISTEN: &str = "subscriptions/listen";
    pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    pub const ELICIT: &str = "elicitation/create";
    pub const SAMPLE: &str = "sampling/createMessage";
    pub const ROOTS_LIST: &str = "roots/list";
    pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
    pub const CANCELLED: &str = "notifications/cancelled";
    pub const PROGRESS: &str = "notifications/progress";
    pub const LOG: &str = "notifications/message";
    pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
    pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
    pub const TASKS_GET: &str = "tasks/get";
    pub const TASKS_UPDATE: &str = "tasks/update";
    pub const TASKS_LIST: &str = "tasks/list";
    pub const TASKS_RESULT: &str = "tasks/result";
    pub const TASKS_CANCEL: &str = "tasks/cancel";
    pub const TASKS_STATUS: &str = "notifications/tasks/status";
    pub const TASKS_CHANGED: &str = "notifications/tasks";

    /// Whether the protocol itself has no such notification, so that it belongs to an extension. A request of the
    /// protocol that is sent as a notification does not.
    pub fn is_extension_notification(name: &str) -> bool {
        !is_protocol_request(name)
            && !matches!(
                name,
                INITIALIZED
                    | ACKNOWLEDGED
                    | ROOTS_CHANGED
                    | CANCELLED
                    | PROGRESS
                    | LOG
                    | TOOLS_CHANGED
                    | PROMPTS_CHANGED
                    | RESOURCES_CHANGED
                    | RESOURCE_UPDATED
                    | ELICITATION_COMPLETE
                    | TASKS_STATUS
                    | TASKS_CHANGED
            )
    }

    /// Whether the protocol itself has no such request, so that it belongs to an extension. A notification that is sent
    /// as a request does not: a server that took it for one could cancel calls of other clients.
    pub fn is_extension_request(name: &str) -> bool {
        !is_protocol_request(name) && !name.starts_with("notifications/")
    }

    /// Whether the protocol itself has this request, in either direction.
    fn is_protocol_request(name: &str) -> bool {
        matches!(
            name,
            INITIALIZE
                | DISCOVER
                | PING
                | TOOLS_LIST
                | TOOLS_CALL
                | PROMPTS_LIST
                | PROMPTS_GET
                | RESOURCES_LIST
                | RESOURCES_READ
                | RESOURCES_SUBSCRIBE
                | RESOURCES_UNSUBSCRIBE
                | TEMPLATES_LIST
                | COMPLETE
                | SET_LEVEL
                | LISTEN
                | ELICIT
                | SAMPLE
                | ROOTS_LIST
                | TASKS_GET
                | TASKS_UPDATE
                | TASKS_LIST
                | TASKS_RESULT
                | TASKS_CANCEL
        )
    }

    /// The name of a method as a `Cow`; the most frequent names are borrowed.
    pub fn intern_name(name: &str) -> Cow<'static, str> {
        const FREQUENT_METHODS: [&str; 6] =
            [TOOLS_CALL, TOOLS_LIST, RESOURCES_READ, PROMPTS_GET, COMPLETE, TASKS_GET];
        let known = FREQUENT_METHODS.into_iter().find(|known| *known == name);
        known.map_or_else(|| Cow::Owned(name.to_owned()), Cow::Borrowed)
    }
}
