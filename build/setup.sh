#!/bin/sh
# Installs what building, running and testing Garita need from the system, and says why.
#
#   build/setup.sh [--yes] [--check] [run|test|desktop …]
#
# With --check it only tells: exit 1 when something is missing. Without --yes, and when a person is
# at the terminal, it asks first. What it cannot install by itself it lists.
set -eu

yes= check= groups=
[ "${CI:-}" = true ] && yes=yes
for arg; do
	case $arg in
	-y | --yes) yes=yes ;;
	--check) check=yes ;;
	run | test | desktop) groups="$groups $arg" ;;
	*) echo "setup: unknown argument $arg (known: --yes, --check, run, test, desktop)" >&2; exit 2 ;;
	esac
done
[ -n "$groups" ] || groups="run test"

missing= # Debian package names
need() { # need PACKAGE WHY PROBE…: the probe succeeds when what the package brings is there
	package=$1 why=$2
	shift 2
	if "$@" >/dev/null 2>&1; then return; fi
	[ -n "$missing" ] || echo "setup: missing on this machine:"
	printf '  %-24s %s\n' "$package" "$why"
	missing="$missing $package"
}
header() { pkg-config --exists "$1"; }

for group in $groups; do
	case $group in
	run)
		need gcc "compiles SQLite and runc (cgo)" command -v gcc
		need libc6-dev "the C library's headers, for the same" test -e /usr/include/stdlib.h
		need pkg-config "finds the C libraries" command -v pkg-config
		need libseccomp-dev "runc's system-call filter" header libseccomp
		need uidmap "newuidmap: maps subordinate users into the engine's user namespace" command -v newuidmap
		need ca-certificates "what servers in a sandbox trust" test -e /etc/ssl/certs/ca-certificates.crt
		need git "the version number, and a common tool inside sandboxes" command -v git
		;;
	test)
		need chromium "the browser that clicks Approve in the end-to-end test" command -v chromium
		need dbus "private buses for the tests of the tray and of secrets" command -v dbus-run-session
		need gnome-keyring "a keyring for the tests of secrets" command -v gnome-keyring-daemon
		need python3 "runs the Python servers of the tests" test -x /usr/bin/python3
		need python3-pip-whl "installs them, as on a machine that has pip" sh -c 'ls /usr/share/python-wheels/pip-*.whl'
		need curl "a program of the tests that sends secrets it does not have" command -v curl
		need wget "another, which the wall is tried with" command -v wget
		need openssh-client "git over ssh, which the wall is tried with" sh -c "command -v ssh && command -v ssh-agent"
		for library in requests httpx aiohttp websockets; do
			need python3-$library "a client library that the wall is tried with" /usr/bin/python3 -c "import $library"
		done
		need jq "the transcript of the README reads JSON with it" command -v jq
		need passwd "makes the ordinary user of the rootless tests (when run as root)" command -v useradd
		need util-linux "setpriv, nsenter: become that user, look into the engine" command -v nsenter
		;;
	desktop)
		need libgtk-3-dev "the window's toolkit" header gtk+-3.0
		need libwebkit2gtk-4.1-dev "the window's web view" header webkit2gtk-4.1
		;;
	esac
done

# Node is not installed from here: Debian 12's is too old for the page's tools.
node_ok() { command -v npm && node -e 'const [a,b]=process.versions.node.split(".");process.exit(+a>20||(+a==20&&+b>=19)?0:1)'; }
unmet=
node_ok >/dev/null 2>&1 || {
	unmet=yes
	echo "setup: Node 20.19 or newer with npm is missing: it builds the page and runs npm servers. Install it from https://nodejs.org, or your version manager." >&2
}

if [ -z "$missing" ]; then
	[ -z "$unmet" ] || exit 4
	echo "setup: everything is there ($(echo "$groups" | sed 's/^ //'))."
	exit 0
fi
[ -z "$check" ] || exit 1

command -v apt-get >/dev/null 2>&1 || {
	echo "setup: this machine has no apt-get. Install what is listed above with its own package manager, then run this again." >&2
	exit 4
}
sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null 2>&1 || {
		echo "setup: installing needs root, and sudo is not here. As root: apt-get install$missing" >&2
		exit 4
	}
	sudo=sudo
fi
if [ -z "$yes" ]; then
	[ -t 0 ] || { echo "setup: nobody is here to ask; run ./task setup --yes to install the above with ${sudo:+sudo }apt-get." >&2; exit 4; }
	printf 'Install them with %sapt-get? [y/N] ' "${sudo:+sudo }"
	read -r answer
	case $answer in y | Y | yes) ;; *) echo "setup: nothing was installed." >&2; exit 4 ;; esac
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # a list of package names
if ! { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	echo "setup: apt-get could not install:$missing (its last lines are above)." >&2
	exit 4
fi
echo "setup: installed$missing."
[ -z "$unmet" ] || exit 4
