//! The task that follows the other replicas: changes of sessions, notices, and requests to be answered here.
//!
//! Used by `face::serve`. It ends with the faces.

use std::sync::Arc;

use super::{ReplicaEvent, ReplicaGroup, relaying};
use crate::{
    face::{Face, streamable},
    view_provider::ViewProvider,
};

/// Follows the other replicas for ever.
pub(in crate::face) async fn follow<F: ViewProvider>(face: Arc<Face<F>>, group: ReplicaGroup) {
    let Some(mut events) = group.events.lock().take() else {
        return tracing::error!("other faces of this process follow the replicas already");
    };
    while let Some(event) = events.recv().await {
        match event {
            ReplicaEvent::Changed { name, state } => streamable::follow_change(&face, &name, state),
            ReplicaEvent::Notice(notice) => streamable::take_notice(&face, notice),
            ReplicaEvent::Request(request, reply) => {
                let answering = Arc::clone(&face);
                face.tasks.spawn(async move {
                    // The replica that asked may be gone; then nobody takes the answer.
                    let _ = reply.send(relaying::answer(&answering, request).await);
                });
            }
        }
    }
}
