#!/bin/sh
# Writes generated files anew. With --check it fails when that changed any of them, and says which.
set -eu
cd "$(dirname "$0")/.."
files="daemon/httpapi/openapi.yaml frontend/src/api/types.gen.ts"

before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
for f in $files; do
	mkdir -p "$before/$(dirname "$f")"
	[ ! -e "$f" ] || cp "$f" "$before/$f"
done
go generate ./daemon/httpapi >"$before/log" 2>&1 || { cat "$before/log" >&2; exit 1; }
(cd frontend && npm run --silent generate) >"$before/log" 2>&1 || { cat "$before/log" >&2; exit 1; }

[ "${1:-}" = --check ] || exit 0
status=0
for f in $files; do
	diff -u "$before/$f" "$f" >&2 || { echo "generate: $f was out of date; it has been written anew: commit it." >&2; status=1; }
done
exit $status
