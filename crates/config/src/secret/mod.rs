//! Secrets: values that stand outside configuration files and that entries name as `${secret:NAME}`.
//!
//! Used by `resolve`, by the commands `secret`, `add`, `import` and `setup`, and by `switchboard_auth`, which
//! keeps the values. It neither stores nor reads a value: a host hands a [`SecretLookup`]
//! and a [`SecretStorage`] in.

mod find;
mod form;
mod lookup;
mod move_plan;
mod name;
mod name_choice;
mod provider_text;
mod replace;
mod storage;
mod text;

pub use find::{SecretValue, find_secret_values};
pub(crate) use form::secret_form_problem;
pub use lookup::{NoSecrets, SecretLookup, SecretLookupError, SecretProvider, SecretSource};
pub use move_plan::{SecretMove, SecretMovePlan};
pub(crate) use name::{collect_names_in_text, collect_secret_names};
pub use name::{is_valid_secret_name, secret_names, secret_reference};
pub use name_choice::SecretNameChoice;
pub use replace::replace_secret_values;
pub use storage::SecretStorage;
pub use text::SecretText;
