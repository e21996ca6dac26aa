//! For agent loops: the catalog as tool definitions, and tool calls in, tool results out.
