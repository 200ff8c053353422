#!/bin/sh
# Runs a command as an ordinary user who may make control groups of their own, and tells whether
# anything of it is left afterwards.
#
#   build/rootless.sh COMMAND [ARG …]
#
# Run by an ordinary user, the command runs as that user, in a scope that systemd delegates where
# there is one. Run by root (CI, containers), it runs as $GARITA_TEST_USER, made when it is missing,
# in a home directory that is removed afterwards; whatever processes it leaves are named, ended, and
# count as a failure.
set -eu

if [ "$(id -u)" != 0 ]; then
	if [ -n "${XDG_RUNTIME_DIR:-}" ] && systemd-run --user --scope -q -p Delegate=yes true >/dev/null 2>&1; then
		exec systemd-run --user --scope -q -p Delegate=yes "$@"
	fi
	echo "rootless: no delegated control group here: limits are those that rlimits can hold." >&2
	exec "$@"
fi

user=${GARITA_TEST_USER:-garita-test}
id "$user" >/dev/null 2>&1 || {
	useradd --create-home --shell /bin/sh "$user" # brings subordinate uids and gids along
	echo "rootless: made the user $user; everything below runs as that user." >&2
}
grep -q "^$user:" /etc/subuid || {
	echo "rootless: $user has no subordinate uids: usermod --add-subuids 200000-265535 --add-subgids 200000-265535 $user" >&2
	exit 4
}

# One run at a time: the tests look at, and end, whatever this user runs.
exec 9>"/run/$user.lock"
flock -n 9 || {
	echo "rootless: another run of $user is under way; waiting for it." >&2
	flock 9
}

name=garita-check-$$
groups=           # the directories made, to be removed
home=$(mktemp -d /tmp/garita-home-XXXXXX)
runtime=$(mktemp -d /tmp/garita-run-XXXXXX)
chown "$user:" "$home" "$runtime"

give() { # give DIR: a group that the user may fill and divide
	mkdir "$1" 2>/dev/null || return 1
	groups="$groups $1"
	for f in cpuset.cpus cpuset.mems; do
		[ ! -e "$1/$f" ] || [ -n "$(cat "$1/$f")" ] || cat "$(dirname "$1")/$f" >"$1/$f"
	done
	chown -R "$user:" "$1" && echo $$ >"$1/cgroup.procs"
}
v1() { # every mounted hierarchy of version 1: runc joins them all
	while IFS=: read -r _ controllers path; do
		[ -n "$controllers" ] || continue
		mount=/sys/fs/cgroup/${controllers#name=}
		[ -d "$mount" ] || mount=/sys/fs/cgroup/${controllers%%,*}
		[ ! -d "$mount$path" ] || give "$mount${path%/}/$name" || return 1
	done </proc/self/cgroup
}
v2() { # beside us, or at the top, where we may
	own=$(sed -n 's/^0:://p' /proc/self/cgroup)
	for at in "/sys/fs/cgroup${own%/}" /sys/fs/cgroup; do
		for c in memory pids cpu; do echo "+$c" >"$at/cgroup.subtree_control"; done 2>/dev/null || true
		grep -q memory "$at/cgroup.subtree_control" 2>/dev/null && give "$at/$name" && return
	done
	return 1
}
if grep -q '^[0-9]*:[^:]' /proc/self/cgroup; then
	before=$(cat /proc/self/cgroup)
	v1 || echo "rootless: no control groups could be made here: limits are those that rlimits can hold." >&2
else
	before=$(cat /proc/self/cgroup)
	v2 || echo "rootless: no control groups could be made here: limits are those that rlimits can hold." >&2
fi

leave() { # back to where we came from
	echo "$before" | while IFS=: read -r _ controllers path; do
		mount=/sys/fs/cgroup/${controllers#name=}
		[ -d "$mount" ] || mount=/sys/fs/cgroup/${controllers%%,*}
		echo $$ >"$mount${path%/}/cgroup.procs" 2>/dev/null || true
	done
}
ours() { # what still runs in the first of the groups, which nothing can leave; without one, what the user runs
	dir=${groups# }
	dir=${dir%% *}
	if [ -n "$dir" ]; then
		find "$dir" -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r pid; do
			ps -o pid= -o args= -p "$pid" || true
		done
	else
		ps -o pid= -o args= -u "$user" || true
	fi
}
settle() { # up to ten seconds for what is still ending
	n=0
	while [ -n "$(ours)" ] && [ $n -lt 50 ]; do sleep 0.2; n=$((n + 1)); done
}
finish() {
	status=$?
	trap - EXIT
	leave
	settle
	left=$(ours)
	if [ -n "$left" ]; then
		echo "rootless: processes were left behind:" >&2
		echo "$left" >&2
		echo "$left" | while read -r pid _; do kill -9 "$pid" 2>/dev/null || true; done
		settle
		[ $status != 0 ] || status=1
	fi
	for dir in $groups; do
		find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null || true
		[ ! -d "$dir" ] || echo "rootless: the control group $dir could not be removed." >&2
	done
	rm -rf "$home" "$runtime"
	exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps=-all \
	env -u SUDO_USER -u SUDO_UID -u DBUS_SESSION_BUS_ADDRESS HOME="$home" USER="$user" LOGNAME="$user" \
	XDG_RUNTIME_DIR="$runtime" TMPDIR="${GARITA_TMPDIR:-/tmp}" "$@" 9>&-
