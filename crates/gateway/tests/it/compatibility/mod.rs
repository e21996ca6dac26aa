//! Every feature, for a client of every version, before a server of either era, through every face. What the run finds
//! is `docs/compatibility.md`; `INSTA_UPDATE=always` writes it anew.

mod features;
mod gateway;
mod page;
mod server;

use switchboard_wire::Version;

use crate::fixture::soon;
use features::{FEATURES, Feature};
use gateway::{FACES, Face, Gateway};
use server::{BEHIND, Behind};

/// What became of one feature in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cell {
    Works,
    /// The version has no such thing, or is not spoken over this transport.
    Absent,
    Fails(String),
}

/// One run of everything, by face, server, version and feature.
struct Found(Vec<(Face, Behind, Version, &'static Feature, Cell)>);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_works_is_what_the_page_says() {
    let mut found = Found(Vec::new());
    for behind in BEHIND {
        let gateway = Gateway::start(behind).await;
        for face in FACES {
            for version in Version::ALL {
                for feature in FEATURES {
                    let cell = run(&gateway, face, version, feature).await;
                    found.0.push((face, behind, version, feature, cell));
                }
            }
        }
        gateway.close().await;
    }
    let failed: Vec<_> =
        found.0.iter().filter(|(.., cell)| matches!(cell, Cell::Fails(_))).map(described).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    page::check(&found);
}

async fn run(gateway: &Gateway, face: Face, version: Version, feature: &Feature) -> Cell {
    if !face.carries(version) || version < feature.since {
        return Cell::Absent;
    }
    let client = gateway.client(face, version).await;
    match soon((feature.run)(client)).await {
        Ok(()) => Cell::Works,
        Err(why) => Cell::Fails(why),
    }
}

fn described(
    (face, behind, version, feature, cell): &(Face, Behind, Version, &Feature, Cell),
) -> String {
    format!("{face:?}, {version} client, {behind:?} server: {}: {cell:?}", feature.name)
}
