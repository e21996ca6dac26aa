//! HTTP+SSE: a session for each GET, and a path to POST to.
//!
//! Used by the client tests of `wire`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use switchboard_wire::link::{LinkWriter, pair::link_pair};
use tokio::sync::mpsc;

use super::{event, next_text};
use crate::{
    fixture::Fixture,
    http::{Reply, Request, Scripted},
};

/// A running face at `/sse`.
pub struct SseFace(Scripted);

#[derive(Default)]
struct Sessions {
    fixture: Arc<Fixture>,
    writers: Mutex<HashMap<String, LinkWriter>>,
}

impl SseFace {
    /// Serves `fixture` on a free port.
    pub async fn start(fixture: Arc<Fixture>) -> Self {
        let sessions = Arc::new(Sessions { fixture, ..Sessions::default() });
        Self(Scripted::start(move |request| answer(sessions.clone(), request)).await)
    }

    /// The URL of the stream.
    pub fn url(&self) -> String {
        self.0.url("/sse")
    }
}

async fn answer(sessions: Arc<Sessions>, request: Request) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/sse") => open(&sessions),
        ("POST", place) if place.starts_with("/messages/") => {
            let writer = sessions.writers.lock().unwrap().get(place).cloned();
            match writer {
                Some(writer) => {
                    let _ = writer.send(request.text().to_owned().into()).await;
                    Reply::empty(202)
                }
                None => Reply::empty(404),
            }
        }
        _ => Reply::empty(405),
    }
}

fn open(sessions: &Arc<Sessions>) -> Reply {
    let ((writer, mut reader), far) = link_pair();
    let place = {
        let mut writers = sessions.writers.lock().unwrap();
        let place = format!("/messages/{}", writers.len());
        writers.insert(place.clone(), writer);
        place
    };
    let (feed, pieces) = mpsc::unbounded_channel();
    let _ = feed.send(format!("event: endpoint\ndata: {place}\n\n").into_bytes());
    let sessions = sessions.clone();
    tokio::spawn(async move {
        let outgoing = async {
            while let Some(text) = next_text(&mut reader).await {
                let _ = feed.send(event(&text));
            }
        };
        let gone = async {
            feed.closed().await;
            sessions.writers.lock().unwrap().remove(&place);
        };
        tokio::join!(sessions.fixture.serve(far), gone, outgoing);
    });
    Reply::events().feed(pieces)
}
