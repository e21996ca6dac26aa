"""A client on the Python SDK that lists and calls the tools of one server, and says what it saw as JSON.

    python py-client.py http URL MODE       MODE: legacy, auto or a version
    python py-client.py stdio MODE PROGRAM ARGS...
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    transport = sys.argv[1]
    if transport == "http":
        target, mode = sys.argv[2], sys.argv[3]
    else:
        mode = sys.argv[2]
        target = stdio_client(StdioServerParameters(command=sys.argv[3], args=sys.argv[4:]))
    async with Client(target, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        name = next(tool for tool in tools if tool.endswith("__echo"))
        echo = await client.call_tool(name, {"message": "hello"})
        resources = len((await client.list_resources()).resources)
        templates = len((await client.list_resource_templates()).resource_templates)
        prompts = len((await client.list_prompts()).prompts)
        lists = {"resources": resources, "templates": templates, "prompts": prompts}
        said = {"tools": len(tools), "echo": echo.content[0].text, **lists}
        print(json.dumps(said))


asyncio.run(main())
