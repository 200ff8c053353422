#!/bin/sh
# Runs a daemon with a home of its own in build/cache/dev, and Vite before it, until either ends.
set -eu
cd "$(dirname "$0")/.."
export GARITA_HOME="$PWD/build/cache/dev"
mkdir -p "$GARITA_HOME"
bin/garita daemon &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM
page=$(bin/garita status --json | sed -n 's/.*"page": *"\([^"]*\)".*/\1/p')
echo "The page by Vite: open the link of \`GARITA_HOME=$GARITA_HOME bin/garita ui --print\` with :5173 for its port."
GARITA_PAGE=$page npm --prefix frontend run dev
