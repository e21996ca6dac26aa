//! Prompts, resources and completions.

use switchboard_wire::json::{Edit, Raw, quote};

use super::handed::Passed;
use super::record::Record;
use super::tool::{member, text};
use super::upstream::Sent;
use super::{CallError, Finish, Outcome, Repeat, Request, Stage};
use crate::catalog::ListedPrompt;
use crate::engine::Placed;
use crate::results::Shape;

/// Fills in a prompt.
pub(super) async fn prompt(
    stage: &Stage,
    request: Request,
    record: &mut Record,
) -> Result<Finish, CallError> {
    let params = request.params();
    let name = text(&params, "name")?;
    let found = stage.find::<ListedPrompt>(&name, request.server.as_deref()).await?;
    record.item(&found.item.name);
    let raw = quote(&found.item.prompt.name);
    let request = request.edited(&params, &[Edit::set(&["name"], &raw)])?;
    through(stage, &found.placed, &name, request, record).await
}

/// Reads a resource, and keeps it to its limits.
pub(super) async fn read(
    stage: &Stage,
    request: Request,
    record: &mut Record,
) -> Result<Finish, CallError> {
    let uri = text(&request.params(), "uri")?;
    let placed = match &request.again {
        None => stage.owner(&request, &uri).await?,
        Some(again) => stage.placed(again.carried.server())?,
    };
    record.server(&placed.name);
    let outcome = match through(stage, &placed, &uri, request, record).await? {
        Finish::Done(outcome) => *outcome,
        other => return Ok(other),
    };
    let kept = stage.limit(Shape::Resource, stage.policy(), outcome.result).await;
    Ok(Finish::done(Outcome { result: kept.result.clone(), kept: Some(kept), ..outcome }))
}

/// Completes an argument of a prompt or a variable of a template.
pub(super) async fn complete(
    stage: &Stage,
    request: Request,
    record: &mut Record,
) -> Result<Finish, CallError> {
    let params = request.params();
    let reference = member(&params, "ref")?;
    let reference =
        reference.ok_or_else(|| CallError::Request { reason: "`ref` is missing".to_owned() })?;
    if let Ok(name) = text(&reference, "name") {
        let found = stage.find::<ListedPrompt>(&name, request.server.as_deref()).await?;
        record.item(&found.item.name);
        let raw = quote(&found.item.prompt.name);
        let request = request.edited(&params, &[Edit::set(&["ref", "name"], &raw)])?;
        return through(stage, &found.placed, &name, request, record).await;
    }
    let uri = text(&reference, "uri")?;
    let placed = stage.known_owner(&request, &uri).await?;
    let placed =
        placed.ok_or_else(|| CallError::NotFound { name: uri.clone(), similar: Vec::new() })?;
    through(stage, &placed, &uri, request, record).await
}

/// Whether changes of a resource are to be heard of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    On,
    Off,
}

/// Begins or ends to hear of changes to a resource; they come as events of the engine.
pub(super) async fn watch(
    stage: &Stage,
    request: Request,
    record: &mut Record,
    watch: Watch,
) -> Result<Finish, CallError> {
    let uri = text(&request.params(), "uri")?;
    let placed = stage.owner(&request, &uri).await?;
    record.server(&placed.name);
    stage.visible(&placed, &uri)?;
    let connection = stage.connection(&placed).await?;
    let live = stage.ready(&placed, &connection).await?;
    let (engine, caller) = (&stage.engine, &stage.caller);
    let done = match watch {
        Watch::On => engine.subscribe(caller, &connection, &live, &uri).await,
        Watch::Off => engine.unsubscribe(caller, &connection, &live, &uri).await,
    };
    done.map_err(|error| CallError::server(&placed.name, error, Repeat::Harmless))?;
    Ok(Finish::done(plain(&placed, Raw::empty_object())))
}

pub(super) async fn through(
    stage: &Stage,
    placed: &Placed,
    name: &str,
    mut request: Request,
    record: &mut Record,
) -> Result<Finish, CallError> {
    record.server(&placed.name);
    stage.visible(placed, name)?;
    let again = request.again.take();
    if let Some(again) = &again {
        again.carried.fits(placed)?;
    }
    let result = match stage.send(placed, request, again.as_deref()).await? {
        Sent::Result(result) => result,
        Sent::Asked(open) => {
            let handed = open.handed(placed, (String::new(), Passed::default()), record.since());
            return Ok(Finish::Handed(Box::new(handed)));
        }
    };
    record.received(result.as_str().len());
    stage.mention(placed, &result);
    Ok(Finish::done(plain(placed, result)))
}

fn plain(placed: &Placed, result: Raw) -> Outcome {
    let server = Some(placed.name.clone());
    Outcome { result, server, decision: None, context: Vec::new(), kept: None }
}
