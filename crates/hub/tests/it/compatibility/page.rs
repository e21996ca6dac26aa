//! Test helper: renders the results as `docs/compatibility.md`. Used by `compatibility`.

use std::fmt::Write as _;
use std::path::PathBuf;

use switchboard_wire::Version;

use super::extensions::{EXTENSIONS, VERSIONS, has_row};
use super::features::FEATURES;
use super::gateway::{FACES, Face};
use super::server::{BEHIND, Behind};
use super::{Cell, Found};

const HEAD: &str = "\
# Compatibility

Each table shows the features that work for a client of each version of the protocol with a server of each era, over one
transport. A test checks every cell and generates this page (`crates/hub/tests/it/compatibility`); it fails if the page
differs. Pages that a client has to open (*elicitation, URL*) are also tested with clients on the TypeScript and Python
SDKs, which refuse everything that their version does not allow.

- ✓ works
- – does not exist: the version has no such feature, or is not used over this transport

*Legacy* servers speak the versions before 2026-07-28, *modern* servers only that version. If a server asks for roots, a
server that a project configures gets the project's folder. Any other modern server gets the client's roots; any other
legacy server gets none, because it may serve several clients.
";

const EXTENSIONS_HEAD: &str = "
## Extensions

This table shows [extensions](features/extensions.md) that a client and a server agree on, for the four pairings of eras. The test
checks each cell over every transport above that the client's version uses; headers are those of Streamable HTTP. URIs of skills
and apps name their server.

";

impl Face {
    const fn title(self) -> &'static str {
        match self {
            Self::Http => "Streamable HTTP, `/mcp`",
            Self::Sse => "HTTP+SSE, `/sse`",
            Self::WebSocket => "WebSocket, `/ws`",
            Self::Socket => "Standard streams, `switchboard connect`",
        }
    }
}

impl Behind {
    const fn title(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// Compares the page with what was found, or writes it.
pub(super) fn check(found: &Found) {
    let expected = render(found);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        std::fs::write(&path, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == expected,
        "docs/compatibility.md is not current; run the test with INSTA_UPDATE=always and read the difference"
    );
}

fn render(found: &Found) -> String {
    let mut page = HEAD.to_owned();
    for face in FACES {
        let _ = write!(page, "\n## {}\n\n", face.title());
        page.push_str(&table(found, face));
    }
    page.push_str(EXTENSIONS_HEAD);
    page.push_str(&extension_table(found));
    page
}

/// A row for each feature, a column for each version of the client, in each cell the two servers.
fn table(found: &Found, face: Face) -> String {
    let mut table = String::from("| server | feature |");
    for version in Version::ALL {
        let _ = write!(table, " {version} |");
    }
    table.push_str("\n|---|---|");
    table.push_str(&":-:|".repeat(Version::ALL.len()));
    for behind in BEHIND {
        for feature in FEATURES.iter().filter(|feature| feature.from.contains(&behind)) {
            let _ = write!(table, "\n| {} | {} |", behind.title(), feature.name);
            for version in Version::ALL {
                let _ = write!(table, " {} |", sign(found, (face, behind, version, feature.name)));
            }
        }
    }
    table + "\n"
}

/// A row for each extension, a column for each pairing of eras.
fn extension_table(found: &Found) -> String {
    let pairings =
        || VERSIONS.into_iter().flat_map(|version| BEHIND.map(|behind| (version, behind)));
    let mut table = String::from("| extension |");
    for (version, behind) in pairings() {
        let client = if version == Version::LATEST { "modern" } else { "legacy" };
        let _ = write!(table, " {client} client, {} server |", behind.title());
    }
    table.push_str("\n|---|");
    table.push_str(&":-:|".repeat(pairings().count()));
    for extension in EXTENSIONS {
        let _ = write!(table, "\n| {} |", extension.name);
        for (version, behind) in pairings() {
            let signs = FACES.into_iter().filter(|face| has_row(*face, extension));
            let signs = signs.map(|face| sign(found, (face, behind, version, extension.name)));
            let signs: Vec<_> = signs.collect();
            let sign = ["no", "✓"].into_iter().find(|sign| signs.contains(sign));
            let _ = write!(table, " {} |", sign.unwrap_or("–"));
        }
    }
    table + "\n"
}

fn sign(found: &Found, place: (Face, Behind, Version, &str)) -> &'static str {
    let here = found.0.iter().find(|(face, behind, version, feature, _)| {
        (*face, *behind, *version, feature.name) == place
    });
    match here.map(|(.., cell)| cell) {
        Some(Cell::Works) => "✓",
        Some(Cell::Absent) => "–",
        Some(Cell::Fails(_)) | None => "no",
    }
}
