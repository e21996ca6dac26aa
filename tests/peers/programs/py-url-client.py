"""A client on the Python SDK that calls the tool `visit`, accepts the page it is asked to show, and says what it was
asked and what came of it as JSON.

    python py-url-client.py URL MODE        MODE: legacy or auto
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.types import ElicitResult


async def main() -> None:
    url, mode = sys.argv[1:3]
    asked = []

    async def accept(_context, params) -> ElicitResult:
        asked.append(params.model_dump(by_alias=True, mode="json", exclude_none=True))
        return ElicitResult(action="accept")

    async with Client(url, mode=mode, elicitation_callback=accept) as client:
        result = await client.call_tool("visit", {})
        print(json.dumps({"asked": asked, "said": result.content[0].text}))


asyncio.run(main())
