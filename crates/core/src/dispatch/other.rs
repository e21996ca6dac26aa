//! Prompts, resources, completions, and methods nobody here knows.

use switchboard_wire::json::{Edit, Raw, quote};

use super::find::Found;
use super::handed::Passed;
use super::record::Record;
use super::tool::{member, text};
use super::upstream::Sent;
use super::{CallError, Finish, Outcome, Request, Stage};
use crate::engine::Placed;
use crate::results::Shape;

/// Fills in a prompt.
pub(super) async fn prompt(
    stage: &Stage,
    mut request: Request,
    record: &mut Record,
) -> Result<Finish, CallError> {
    let params = request.params();
    let name = request.take_name(&params)?;
    let found = find_prompt(stage, &name, request.server.as_deref()).await?;
    let raw = quote(&found.item);
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
    mut request: Request,
    record: &mut Record,
) -> Result<Finish, CallError> {
    let params = request.params();
    let reference = member(&params, "ref")?;
    let reference =
        reference.ok_or_else(|| CallError::Request { reason: "`ref` is missing".to_owned() })?;
    if let Ok(name) = request.take_name(&reference) {
        let found = find_prompt(stage, &name, request.server.as_deref()).await?;
        let raw = quote(&found.item);
        let request = request.edited(&params, &[Edit::set(&["ref", "name"], &raw)])?;
        return through(stage, &found.placed, &name, request, record).await;
    }
    let uri = text(&reference, "uri")?;
    let placed = stage.owner(&request, &uri).await?;
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
    done.map_err(|error| CallError::server(&placed.name, error))?;
    Ok(Finish::done(plain(&placed, Raw::empty_object())))
}

/// A method nobody here knows goes through only where one server is meant.
pub(super) async fn anything(
    stage: &Stage,
    request: Request,
    record: &mut Record,
) -> Result<Finish, CallError> {
    let placed = match (&request.server, stage.applied.placed.all()) {
        (Some(server), _) => stage.placed(server)?,
        (None, [only]) => only.clone(),
        (None, _) => {
            let asked = &request.method;
            let reason = format!("`{asked}` is not known, and could be meant for any server");
            return Err(CallError::Request { reason });
        }
    };
    let asked = request.method.clone();
    through(stage, &placed, &asked, request, record).await
}

/// A prompt by its full name: whose it is, and what its server calls it.
async fn find_prompt(
    stage: &Stage,
    name: &str,
    server: Option<&str>,
) -> Result<Found<String>, CallError> {
    let found = stage.find(name, server, |catalog| {
        let listed = catalog.prompt(name)?;
        Some((listed.server(), listed.prompt.name.clone()))
    });
    found.await
}

async fn through(
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
