//! Test of every feature, for clients of every version, before servers of both eras, through every face, and of
//! extensions for clients of both eras. The result is `docs/compatibility.md`; `INSTA_UPDATE=always` rewrites it.

mod extensions;
mod features;
mod gateway;
mod page;
mod rules;
mod sdk;
mod server;

use switchboard_wire::Version;

use extensions::EXTENSIONS;
use features::{FEATURES, Feature};
use gateway::{FACES, Face, Gateway};
use server::{BEHIND, Behind};
use switchboard_testkit::deadline::TEST_DEADLINE;

/// What became of one feature in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cell {
    Works,
    /// The version has no such thing, or is not spoken over this transport.
    Absent,
    Fails(String),
}

/// One feature, tried in one place.
type Tried = (Face, Behind, Version, &'static Feature, Cell);

/// One run of everything.
struct Found(Vec<Tried>);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_works_is_what_the_page_says() {
    let [legacy, modern] = BEHIND.map(before);
    let (legacy, modern) = tokio::join!(legacy, modern);
    let found = Found([legacy, modern].concat());
    let failed: Vec<_> =
        found.0.iter().filter(|(.., cell)| matches!(cell, Cell::Fails(_))).map(described).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    page::check(&found);
}

/// Every client, with a server of one era behind the gateway.
async fn before(behind: Behind) -> Vec<Tried> {
    let gateway = Gateway::start(behind).await;
    let mut tried = Vec::new();
    for face in FACES {
        for version in Version::ALL {
            for feature in FEATURES.iter().filter(|feature| feature.from.contains(&behind)) {
                let cell = run(&gateway, face, version, feature).await;
                tried.push((face, behind, version, feature, cell));
            }
        }
    }
    for face in FACES {
        for version in extensions::VERSIONS {
            for extension in EXTENSIONS.iter().filter(|row| extensions::has_row(face, row)) {
                let cell = run(&gateway, face, version, extension).await;
                tried.push((face, behind, version, extension, cell));
            }
        }
    }
    gateway.close().await;
    tried
}

async fn run(gateway: &Gateway, face: Face, version: Version, feature: &Feature) -> Cell {
    if !face.carries(version) || version < feature.since {
        return Cell::Absent;
    }
    let client = gateway.client(face, version).await;
    match tokio::time::timeout(TEST_DEADLINE, (feature.run)(client)).await {
        Ok(Ok(())) => Cell::Works,
        Ok(Err(why)) => Cell::Fails(why),
        Err(_) => Cell::Fails("it hangs".to_owned()),
    }
}

fn described((face, behind, version, feature, cell): &Tried) -> String {
    format!("{face:?}, {version} client, {behind:?} server: {}: {cell:?}", feature.name)
}
