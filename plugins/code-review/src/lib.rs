//! A plugin with one prompt, which asks for a code review.
//!
//! Built into `switchboard` and used as an example of `#[prompt]`.

use switchboard_plugin_sdk::{Context, plugin, prompt};

const LANGUAGES: [&str; 12] = [
    "C",
    "C#",
    "C++",
    "Go",
    "Java",
    "JavaScript",
    "Kotlin",
    "Python",
    "Ruby",
    "Rust",
    "Swift",
    "TypeScript",
];

/// Asks for a review of code in a language.
#[prompt(name = "code-review", complete = languages)]
fn code_review(
    /// Of the code
    language: String,
) -> String {
    format!(
        "Review the following {language} code: what is wrong, what is unclear, and what would you change first?"
    )
}

fn languages(_argument: &str, typed: &str, _cx: &Context) -> Vec<String> {
    let typed = typed.to_lowercase();
    let fits = |known: &&str| known.to_lowercase().starts_with(&typed);
    LANGUAGES.into_iter().filter(fits).map(str::to_owned).collect()
}

plugin! { name: "code-review", version: env!("CARGO_PKG_VERSION"), items: [code_review] }

#[cfg(feature = "export")]
switchboard_plugin_sdk::export!();
