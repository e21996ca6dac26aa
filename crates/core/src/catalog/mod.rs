//! One list of tools, prompts and resources out of many servers, with names that are exact both ways.
