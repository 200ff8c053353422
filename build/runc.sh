#!/bin/sh
# Builds the pinned runc into bin/; where it cannot be built, the system's own takes its place.
set -eu
cd "$(dirname "$0")/.."
if pkg-config --exists libseccomp 2>/dev/null; then
	exec go build -C build/tools -tags seccomp -ldflags "-s -w" -o "$PWD/bin/" github.com/opencontainers/runc
fi
system=$(command -v runc || echo /usr/sbin/runc)
[ -x "$system" ] || {
	echo "build: runc needs libseccomp-dev to build, and the system has no runc: run ./task setup." >&2
	exit 4
}
echo "build: libseccomp-dev is missing; using $system ($("$system" --version | head -n 1)) instead of the pinned runc." >&2
ln -sf "$system" bin/runc
