//! What servers write to their standard error, kept in rotated files.
