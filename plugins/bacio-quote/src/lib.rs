//! A plugin with one resource: a random quotation on love.
//!
//! Built into `switchboard` and used as an example of `#[resource]`.

use std::hash::{BuildHasher as _, RandomState};

use switchboard_plugin_sdk::{plugin, resource};

/// Quotations of authors whose copyright has expired.
const QUOTATIONS: [&str; 15] = [
    "Love looks not with the eyes, but with the mind. (William Shakespeare)",
    "The course of true love never did run smooth. (William Shakespeare)",
    "Love is not love which alters when it alteration finds. (William Shakespeare)",
    "The heart has its reasons, of which reason knows nothing. (Blaise Pascal)",
    "Love conquers all things; let us too surrender to love. (Virgil)",
    "If you would be loved, love. (Seneca)",
    "To love is to find pleasure in the happiness of others. (Gottfried Wilhelm Leibniz)",
    "Love, which absolves no one beloved from loving. (Dante Alighieri)",
    "The love that moves the sun and the other stars. (Dante Alighieri)",
    "One word frees us of all the weight and pain of life: that word is love. (Sophocles)",
    "We are shaped and fashioned by what we love. (Johann Wolfgang von Goethe)",
    "Whatever our souls are made of, his and mine are the same. (Emily Brontë)",
    "I hate and I love. Why I do so, perhaps you ask. I know not, but I feel it. (Catullus)",
    "Absence sharpens love, presence strengthens it. (Thomas Fuller)",
    "Who, being loved, is poor? (Oscar Wilde)",
];

/// A quotation on love.
#[resource(uri = "bacio:///quote", name = "bacio-quote", mime = "text/plain")]
fn quote() -> &'static str {
    // Not a secret: the random seed of a map is good enough for a choice.
    let random = RandomState::new().hash_one(QUOTATIONS.len());
    let at = usize::try_from(random % QUOTATIONS.len() as u64).unwrap_or_default();
    QUOTATIONS[at]
}

plugin! { name: "bacio-quote", version: env!("CARGO_PKG_VERSION"), items: [quote] }

#[cfg(feature = "export")]
switchboard_plugin_sdk::export!();
