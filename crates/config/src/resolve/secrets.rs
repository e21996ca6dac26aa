//! The secrets of one entry: looked up last, after everything else permits the server's start.
//!
//! Used by `resolve::servers`. It does not decide who may have a secret (`resolve::servers`, by approval).

use std::collections::{BTreeMap, BTreeSet};

use crate::expand::ReferenceLookup;
use crate::host_context::EnvironmentVariables;
use crate::load::EntryCandidate;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::secret::{SecretLookup, SecretLookupError, SecretProvider, SecretSource, SecretText};
use crate::source::{LocatedValue, SourceLocation};

/// Where secrets come from: the declared providers, and the host's store for all others.
pub(super) struct SecretSources<'a> {
    pub(super) lookup: &'a dyn SecretLookup,
    pub(super) providers: &'a BTreeMap<String, LocatedValue<SecretProvider>>,
}

/// The variables and secrets that an entry is expanded with.
pub(super) struct EntryValues<'a> {
    pub(super) env: &'a EnvironmentVariables,
    pub(super) secrets: BTreeMap<String, SecretText>,
}

/// Why a secret that an entry names has no value.
pub(super) struct MissingSecret {
    name: String,
    error: SecretLookupError,
    provider: Option<SourceLocation>,
}

// === impl SecretSources ===

impl SecretSources<'_> {
    /// The values of the named secrets, or the first that has none.
    pub(super) fn find_all(
        &self,
        names: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, SecretText>, MissingSecret> {
        let find = |name: &String| {
            let provider = self.providers.get(name);
            let source = match provider {
                Some(provider) => SecretSource::Provider(&provider.value),
                None => SecretSource::Store(name),
            };
            match self.lookup.find_secret(source) {
                Ok(value) => Ok((name.clone(), value)),
                Err(error) => {
                    let provider = provider.map(|provider| provider.at.clone());
                    Err(MissingSecret { name: name.clone(), error, provider })
                }
            }
        };
        names.iter().map(find).collect()
    }
}

// === impl EntryValues ===

impl ReferenceLookup for EntryValues<'_> {
    fn variable(&self, name: &str) -> Option<&str> {
        self.env.variable(name)
    }

    fn secret(&self, name: &str) -> Option<&str> {
        self.secrets.get(name).map(SecretText::expose)
    }
}

impl EntryValues<'_> {
    /// Redacts the secrets in texts that were made of the expanded entry.
    pub(super) fn redact_problem(&self, mut problem: ConfigProblem) -> ConfigProblem {
        problem.message = self.redact_text(problem.message);
        problem
    }

    pub(super) fn redact_text(&self, text: String) -> String {
        self.secrets.values().fold(text, |text, secret| secret.redact_in(&text))
    }
}

// === impl MissingSecret ===

impl MissingSecret {
    /// The reason in a few words.
    pub(super) fn reason(&self) -> String {
        match &self.error {
            SecretLookupError::NotSet => format!("the secret `{}` is not set", self.name),
            SecretLookupError::Failed(why) => {
                format!("the secret `{}` cannot be read: {why}", self.name)
            }
        }
    }

    /// The provider, or the entry.
    pub(super) fn location(&self, candidate: &EntryCandidate) -> SourceLocation {
        self.provider.clone().unwrap_or_else(|| candidate.at.clone())
    }

    pub(super) fn problem(&self, candidate: &EntryCandidate) -> ConfigProblem {
        let message = format!("server `{}` is not started: {}", candidate.name, self.reason());
        let problem = ConfigProblem::warning(ConfigProblemKind::MissingSecret, message)
            .at(self.location(candidate))
            .of_server(&candidate.name);
        match (&self.error, &self.provider) {
            (_, Some(_)) => problem.hint(ProblemHint::Other(format!(
                "correct `{}` in `secretProviders`, or run its command yourself",
                self.name
            ))),
            (SecretLookupError::NotSet, None) => {
                problem.hint(ProblemHint::SetSecret(self.name.clone()))
            }
            (SecretLookupError::Failed(_), None) => problem,
        }
    }
}
