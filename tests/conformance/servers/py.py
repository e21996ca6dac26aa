"""The tools, prompts and resources that the official conformance suite looks for, on the Python SDK 2.x.

    python py.py http|stdio      (the interpreter of the `python` peers)

It speaks both eras, as every server on that SDK does. Written as the SDK's examples are: decorators on `MCPServer`; for
legacy clients the back channel of the session (`ctx.elicit`, `ctx.session.create_message`), for modern ones
`InputRequiredResult` and `Resolve`. Over HTTP it prints `listening http://127.0.0.1:PORT/mcp` on stderr.
"""

import asyncio
import base64
import json
import socket
import sys
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from mcp.server.caching import CACHEABLE_METHODS, CacheHint
from mcp.server.mcpserver import Context, MCPServer, Resolve, Sample, UserMessage
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import (
    AudioContent,
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    JSONRPCMessage,
    ListRootsRequest,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

FOLDER = Path(__file__).resolve().parent.parent
PAUSE_SECONDS = 0.05
# Longer than a gateway waits before it makes a stream of its answer.
LONG_PAUSE_SECONDS = 1


def read(path: str) -> Any:
    return json.loads((FOLDER / path).read_text())


MEDIA = read("media.json")


def image() -> ImageContent:
    return ImageContent(type="image", mime_type="image/png", data=MEDIA["png"])


def resource(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)


def json_schema_2020_12_tool() -> str:
    """Has a schema of many keywords"""
    return "the schema is what matters"


# The SDK derives a tool's schema from its parameters; this one is given as it is.
SCHEMA_TOOL = Tool.from_function(json_schema_2020_12_tool, structured_output=False).model_copy(
    update={"parameters": read("forms/schema-2020-12.json")}
)

mcp = MCPServer(
    "conformance-py",
    version="1.0.0",
    tools=[SCHEMA_TOOL],
    log_level="WARNING",
    cache_hints={method: CacheHint(ttl_ms=1000) for method in CACHEABLE_METHODS},
)


# --- tools that answer


@mcp.tool()
def test_simple_text() -> str:
    """Answers with text"""
    return "This is a simple text response for testing."


@mcp.tool()
def test_image_content() -> list[ImageContent]:
    """Answers with an image"""
    return [image()]


@mcp.tool()
def test_audio_content() -> list[AudioContent]:
    """Answers with a recording"""
    return [AudioContent(type="audio", mime_type="audio/wav", data=MEDIA["wav"])]


@mcp.tool()
def test_embedded_resource() -> list[EmbeddedResource]:
    """Answers with a resource"""
    return [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


@mcp.tool()
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Answers with text, an image and a resource"""
    data = '{"test":"data","value":123}'
    return [
        TextContent(type="text", text="Multiple content types test:"),
        image(),
        resource("test://mixed-content-resource", "application/json", data),
    ]


@mcp.tool()
def test_error_handling() -> str:
    """Fails"""
    raise RuntimeError("This tool intentionally returns an error for testing")


@mcp.tool()
def test_custom_header(value: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Value"})]) -> str:
    """Says a value that travels in a header too"""
    return value


# --- tools that notify


@mcp.tool()
async def test_tool_with_logging(ctx: Context) -> str:
    """Logs three times"""
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"]:
        await ctx.info(text)
        await asyncio.sleep(PAUSE_SECONDS)
    return "logged three times"


@mcp.tool()
async def test_logging_tool(ctx: Context) -> str:
    """Logs for clients that asked for it"""
    await ctx.info("only for clients that asked")
    return "logged"


@mcp.tool()
async def test_tool_with_progress(ctx: Context) -> str:
    """Reports progress three times"""
    for progress in [0, 50, 100]:
        await ctx.report_progress(progress, 100, f"{progress} of 100")
        await asyncio.sleep(PAUSE_SECONDS)
    return "made progress three times"


@mcp.tool()
async def test_reconnection(ctx: Context) -> str:
    """Closes its stream and answers later"""
    await ctx.close_sse_stream()
    await asyncio.sleep(LONG_PAUSE_SECONDS)
    return "Reconnection test completed successfully"


@mcp.tool()
async def test_trigger_tool_change(ctx: Context) -> str:
    """Announces that the tools changed"""
    await ctx.notify_tools_changed()
    return "announced"


@mcp.tool()
async def test_trigger_prompt_change(ctx: Context) -> str:
    """Announces that the prompts changed"""
    await ctx.notify_prompts_changed()
    return "announced"


# --- tools that ask over the back channel of a legacy session


class Contact(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field(default="active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = True


@mcp.tool()
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Asks the client's model"""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    # On the stream of the call: the session's own stream may not be open yet, and what is sent before it is is lost.
    result = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return result.model_dump_json()


@mcp.tool()
async def test_elicitation(message: str, ctx: Context) -> str:
    """Asks for a name and an address"""
    return (await ctx.elicit(message, Contact)).action


@mcp.tool()
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks with default values"""
    return (await ctx.elicit("Please review the values", Defaults)).action


@mcp.tool()
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks with every form of choice"""
    form = read("forms/enums.json")
    return (await ctx.session.elicit_form("Please choose", form, related_request_id=ctx.request_id)).action


# --- tools and a prompt that ask modern clients

RESULTS = {ElicitRequest: ElicitResult, CreateMessageRequest: CreateMessageResult, ListRootsRequest: ListRootsResult}


def elicit(message: str, name: str, kind: str = "string") -> ElicitRequest:
    form = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=form))


def sample(prompt: str, max_tokens: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


def ask(ctx: Context, requests: dict[str, InputRequest], state: str | None = None) -> str | InputRequiredResult:
    """Asks until every request has an answer of its kind, then says what was answered, and the state."""
    given = ctx.input_responses or {}
    answered = all(isinstance(given.get(key), RESULTS[type(request)]) for key, request in requests.items())
    if answered and ctx.request_state == state:
        return " ".join([given[key].model_dump_json() for key in requests] + [state or ""])
    return InputRequiredResult(input_requests=requests, request_state=state)


NAME = elicit("What is your name?", "name")
COLOUR = elicit("Step 2: What is your favorite color?", "color")
CONFIRM = elicit("Please confirm", "ok", "boolean")
GREETING = sample("Generate a greeting", 50)


@mcp.tool()
async def test_input_required_result_elicitation(ctx: Context) -> str | InputRequiredResult:
    """Asks for a name"""
    return ask(ctx, {"user_name": NAME})


@mcp.tool()
async def test_streaming_elicitation(ctx: Context) -> str | InputRequiredResult:
    """Asks for a name"""
    return ask(ctx, {"user_name": NAME})


@mcp.tool()
async def test_input_required_result_sampling(ctx: Context) -> str | InputRequiredResult:
    """Asks the client's model"""
    return ask(ctx, {"capital_question": sample("What is the capital of France?", 100)})


@mcp.tool()
async def test_input_required_result_list_roots(ctx: Context) -> str | InputRequiredResult:
    """Asks for roots"""
    return ask(ctx, {"client_roots": ListRootsRequest()})


@mcp.tool()
async def test_input_required_result_request_state(ctx: Context) -> str | InputRequiredResult:
    """Asks, and keeps a state"""
    return ask(ctx, {"confirm": CONFIRM}, "state-ok")


@mcp.tool()
async def test_input_required_result_tampered_state(ctx: Context) -> str | InputRequiredResult:
    """Refuses a state that was altered: the SDK seals it"""
    return ask(ctx, {"confirm": CONFIRM}, "intact")


@mcp.tool()
async def test_input_required_result_multiple_inputs(ctx: Context) -> str | InputRequiredResult:
    """Asks three things at once"""
    return ask(ctx, {"user_name": NAME, "greeting": GREETING, "client_roots": ListRootsRequest()}, "all")


@mcp.tool()
async def test_input_required_result_multi_round(ctx: Context) -> str | InputRequiredResult:
    """Asks one thing after another"""
    first = ctx.request_state == "first" and isinstance((ctx.input_responses or {}).get("step1"), ElicitResult)
    if first or ctx.request_state == "second":
        return ask(ctx, {"step2": COLOUR}, "second")
    return ask(ctx, {"step1": NAME}, "first")


@mcp.tool()
async def test_input_required_result_capabilities(ctx: Context) -> str | InputRequiredResult:
    """Asks what the client can be asked"""
    able = ctx.client_capabilities
    requests: dict[str, InputRequest] = {}
    if able and able.elicitation:
        requests["user_name"] = NAME
    if able and able.sampling:
        requests["greeting"] = GREETING
    return ask(ctx, requests) if requests else "nothing to ask"


def greeting() -> Sample:
    return Sample(GREETING.params.messages, max_tokens=50)


@mcp.tool()
async def test_missing_capability(answer: Annotated[CreateMessageResult, Resolve(greeting)]) -> str:
    """Needs a client that can sample"""
    return answer.model_dump_json()


@mcp.prompt()
async def test_input_required_result_prompt(ctx: Context) -> list[UserMessage] | InputRequiredResult:
    """A prompt that asks for its context"""
    asked = ask(ctx, {"user_context": elicit("What context should the prompt use?", "context")})
    return asked if isinstance(asked, InputRequiredResult) else [UserMessage(f"Use this: {asked}")]


# --- resources


@mcp.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Text that stays as it is"""
    return "This is the content of the static text resource."


@mcp.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image that stays as it is"""
    return base64.b64decode(MEDIA["png"])


@mcp.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """Text that can be watched"""
    return "Watched resource content"


@mcp.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    """Data by id"""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


# --- prompts and completion


@mcp.prompt()
def test_simple_prompt() -> str:
    """A prompt without arguments"""
    return "This is a simple prompt for testing."


@mcp.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments"""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@mcp.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
    """A prompt that carries a resource"""
    carried = resource(resourceUri, "text/plain", "Embedded resource content for testing.")
    return [UserMessage(carried), UserMessage("Please process the embedded resource above.")]


@mcp.prompt()
def test_prompt_with_image() -> list[UserMessage]:
    """A prompt that carries an image"""
    return [UserMessage(image()), UserMessage("Please analyze the image above.")]


@mcp.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    values = [word for word in ["paris", "park", "party"] if word.startswith(argument.value)]
    return Completion(values=values, total=len(values), has_more=False)


# --- legacy methods for which `MCPServer` has no decorator


async def done(ctx: Any, params: Any) -> EmptyResult:
    return EmptyResult()


for method, params in [
    ("logging/setLevel", SetLevelRequestParams),
    ("resources/subscribe", SubscribeRequestParams),
    ("resources/unsubscribe", UnsubscribeRequestParams),
]:
    mcp._lowlevel_server.add_request_handler(method, params, done)


# --- serving


class Events(EventStore):
    """The events of all streams, so that a client can resume one."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = int(last_event_id)
        stream = self.events[last - 1][0]
        for number, (of, message) in enumerate(self.events[last:], start=last + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def serve_http() -> None:
    app = mcp.streamable_http_app(event_store=Events(), retry_interval=500)
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


match sys.argv[1:]:
    case ["http"]:
        serve_http()
    case ["stdio"]:
        mcp.run("stdio")
    case _:
        sys.exit("usage: py.py http|stdio")
