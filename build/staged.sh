#!/bin/sh
# Runs a program that uses bin/ as an ordinary user. Root's own folders are closed to that user, so
# for root the program, with what lies beside it, and bin/ are copied to where anyone may read them, and removed afterwards.
#
#   build/staged.sh PROGRAM [ARG …]
#
# With $GARITA_KIT, a folder that the program needs, that too. With $GARITA_WEIGHS the program, and nothing that it starts, may
# read how much memory processes use that nobody else looks into (CAP_SYS_PTRACE); only root can give it that.
set -eu
cd "$(dirname "$0")/.."
program=$1
shift
[ "$(id -u)" = 0 ] || exec env GARITA_BIN="$PWD/bin" build/rootless.sh "$program" "$@"

stage=$(mktemp -d /tmp/garita-stage-XXXXXX)
trap 'rm -rf "$stage"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$stage"
cp -RL bin "$stage/bin"
cp -R "$(dirname "$program")" "$stage/programs"
[ -z "${GARITA_KIT:-}" ] || {
	cp -R "$GARITA_KIT" "$stage/kit"
	export GARITA_KIT="$stage/kit"
}
[ -z "${GARITA_WEIGHS:-}" ] || setcap cap_sys_ptrace=ep "$stage/programs/$(basename "$program")" ||
	echo "staged: setcap failed: of the daemon, the wall and garita-init the resident set is counted, not the PSS." >&2
echo "This is root's shell; what follows runs as an ordinary user, as it would on your own machine." >&2
GARITA_BIN=$stage/bin build/rootless.sh "$stage/programs/$(basename "$program")" "$@"
