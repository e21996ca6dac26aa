//! Results kept to a size a model can take.
