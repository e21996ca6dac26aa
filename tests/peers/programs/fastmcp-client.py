"""A client on FastMCP that lists and calls the tools of one server, and says what it saw as JSON.

    python fastmcp-client.py http|sse URL
    python fastmcp-client.py stdio PROGRAM ARGS...
"""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport


def transport():
    kind, target, *args = sys.argv[1:]
    if kind == "stdio":
        return StdioTransport(command=target, args=args, env=dict(os.environ))
    return {"http": StreamableHttpTransport, "sse": SSETransport}[kind](target)


async def main() -> None:
    async with Client(transport()) as client:
        tools = [tool.name for tool in await client.list_tools()]
        name = next(tool for tool in tools if tool.endswith("__echo"))
        echo = await client.call_tool(name, {"message": "hello"})
        resources = len(await client.list_resources())
        templates = len(await client.list_resource_templates())
        prompts = len(await client.list_prompts())
        lists = {"resources": resources, "templates": templates, "prompts": prompts}
        said = {"tools": len(tools), "echo": echo.content[0].text, **lists}
        print(json.dumps(said))


asyncio.run(main())
