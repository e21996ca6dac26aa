"""What the two Python peers have in common: one legacy MCP server, and a port chosen by the system."""

import asyncio
import socket
import sys

import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from starlette.applications import Starlette


def build() -> FastMCP:
    """A server with tools, a resource and a prompt, on the last legacy line of the SDK."""
    server = FastMCP("py-legacy-server")

    @server.tool()
    def add(a: float, b: float) -> float:
        """Adds two numbers"""
        return a + b

    @server.tool()
    async def slow(ms: float, ctx: Context, steps: int = 10) -> str:
        """Takes its time, in steps"""
        for step in range(1, steps + 1):
            await asyncio.sleep(ms / 1000 / steps)
            await ctx.report_progress(step, steps, f"step {step}")
        return f"waited {ms:g} ms"

    @server.resource("note://hello", mime_type="text/plain")
    def hello() -> str:
        """A note"""
        return "hello"

    @server.prompt()
    def greet(name: str) -> str:
        """A greeting"""
        return f"Please greet {name}."

    return server


def serve(app: Starlette, scheme: str, path: str) -> None:
    """Serves on a free loopback port and says which on stderr; connections queue from then on."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    print(f"listening {scheme}://127.0.0.1:{port}{path}", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
