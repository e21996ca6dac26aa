"""A legacy server over server-sent events, on the Python SDK.

    python py-sse-server.py      (the interpreter of the `python-legacy` peers)

Prints `listening http://127.0.0.1:PORT/sse` on stderr.
"""

from legacy_peer import build, serve

serve(build().sse_app(), "http", "/sse")
