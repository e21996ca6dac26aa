//! The text of a provider in `secretProviders`: `${file:PATH}`, `${cmd:COMMAND}` or `op://…`.
//!
//! Used by `resolve::settings`, for settings of the user and the administrator only.

use std::path::{Path, PathBuf};

use super::lookup::SecretProvider;

impl SecretProvider {
    /// Parses the text of a provider. A path begins at the root, or with `~/` in `home`.
    pub(crate) fn parse(text: &str, home: &Path) -> Result<Self, &'static str> {
        let body = |prefix| text.strip_prefix(prefix).and_then(|body: &str| body.strip_suffix('}'));
        if let Some(path) = body("${file:") {
            return to_path(path, home).map(Self::File).ok_or("a path begins with `/` or `~/`");
        }
        if let Some(command) = body("${cmd:").map(str::trim) {
            return match command {
                "" => Err("the command is empty"),
                command => Ok(Self::Command(command.to_owned())),
            };
        }
        if text.starts_with("op://") && !text.contains(char::is_control) {
            return Ok(Self::OnePassword(text.to_owned()));
        }
        Err("a provider is `${file:PATH}`, `${cmd:COMMAND}` or `op://VAULT/ITEM/FIELD`")
    }
}

fn to_path(text: &str, home: &Path) -> Option<PathBuf> {
    match text.strip_prefix("~/") {
        Some(rest) => Some(home.join(rest)),
        None => Some(PathBuf::from(text)).filter(|path| path.is_absolute()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_has_one_of_three_forms() {
        let parse = |text| SecretProvider::parse(text, Path::new("/home/me"));
        assert_eq!(parse("${file:~/key}"), Ok(SecretProvider::File("/home/me/key".into())));
        assert_eq!(parse("${file:/run/key}"), Ok(SecretProvider::File("/run/key".into())));
        assert_eq!(
            parse("${cmd:awk '{print}' f}"),
            Ok(SecretProvider::Command("awk '{print}' f".to_owned()))
        );
        assert_eq!(parse("op://a/b/c"), Ok(SecretProvider::OnePassword("op://a/b/c".to_owned())));
        for text in ["", "plain", "${file:key}", "${cmd: }", "${VAR}", "op:/x"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
