//! Arguments checked against schemas that nobody may trust.
