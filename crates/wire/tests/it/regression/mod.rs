//! Facts about other libraries that must not become facts about this one.
