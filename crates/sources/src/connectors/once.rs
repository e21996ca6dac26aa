//! The catalogue for a program that looks once and ends.

use std::sync::Arc;

use switchboard_config::{Asked, Desired, Fetched, Surroundings, resolve};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::catalogue::{Catalogue, Outcome};
use super::refresh::Refresher;
use super::wanted::{Wanted, wanted_source};
use crate::{options::Options, problem::Problem};

/// The last copy of the catalogue that the settings name, without asking the network.
pub fn kept_catalogue(surroundings: &Surroundings, asked: &Asked) -> Option<Fetched> {
    named(&resolve(surroundings, asked), surroundings, asked)?.fetched()
}

/// Fetches the catalogue that the settings name. Where that fails its last copy is given, and why.
pub async fn fetch_catalogue(
    surroundings: &Surroundings,
    asked: &Asked,
    options: &Options,
) -> (Option<Fetched>, Option<Problem>) {
    let desired = resolve(surroundings, asked);
    let Some(mut catalogue) = named(&desired, surroundings, asked) else { return (None, None) };
    let Some(source) = wanted_source(&desired, asked) else { return (None, None) };
    let wanted = Wanted::new(&source.value, surroundings, &desired.settings.env);
    let (_wants, wants) = watch::channel(Some(wanted.clone()));
    let mut refresher = Refresher {
        wanted: wants,
        outcomes: watch::channel(Outcome::default()).0,
        refresh: Arc::new(Notify::new()),
        stop: CancellationToken::new(),
        options: options.clone(),
        state_dir: surroundings.state_dir.clone(),
        env: surroundings.env.clone(),
    };
    catalogue.update(&refresher.attempt(&wanted).await);
    (catalogue.fetched(), catalogue.problem())
}

fn named(desired: &Desired, surroundings: &Surroundings, asked: &Asked) -> Option<Catalogue> {
    let source = wanted_source(desired, asked)?;
    let mut catalogue = Catalogue::default();
    catalogue.follow(Some(source.clone()), &surroundings.state_dir);
    Some(catalogue)
}
