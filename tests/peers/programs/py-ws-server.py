"""A legacy server over WebSocket, on the Python SDK.

    python py-ws-server.py      (the interpreter of the `python-legacy` peers)

Prints `listening ws://127.0.0.1:PORT/ws` on stderr.
"""

from legacy_peer import build, serve
from mcp.server.websocket import websocket_server
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

# FastMCP has no WebSocket of its own, so its inner server is run on the SDK's bare transport.
server = build()._mcp_server


async def session(websocket: WebSocket) -> None:
    """One connection, one session."""
    async with websocket_server(websocket.scope, websocket.receive, websocket.send) as (read, write):
        await server.run(read, write, server.create_initialization_options())


serve(Starlette(routes=[WebSocketRoute("/ws", session)]), "ws", "/ws")
