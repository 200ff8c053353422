#!/bin/sh
# Runs every fuzz target for a while: build/fuzz.sh [TIME], 10s each by default.
set -eu
cd "$(dirname "$0")/.."
time=${1:-10s}
grep -rlE '^func Fuzz' --include='*_test.go' --exclude-dir=node_modules . | while read -r file; do
	dir=$(dirname "$file")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r target; do
		echo "=== $dir $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" </dev/null || exit 1
	done
done
