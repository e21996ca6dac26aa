#!/bin/sh
# What the conformance suite starts as its client. It runs the real one and keeps what the suite
# forgets: the exit status and stderr, in files named after the scenario and the version.
#
#   CONFORMANCE_DRIVER        the client
#   CONFORMANCE_STATUS_DIR    where to put the files
set -u
record="$CONFORMANCE_STATUS_DIR/$MCP_CONFORMANCE_SCENARIO-$MCP_CONFORMANCE_PROTOCOL_VERSION"
mkdir -p "$(dirname "$record")"

"$CONFORMANCE_DRIVER" "$@" 2>"$record.stderr"
status=$?

cat "$record.stderr" >&2
echo "$status" >"$record.status"
exit "$status"
