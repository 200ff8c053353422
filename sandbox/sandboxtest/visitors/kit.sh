#!/bin/sh
# Puts the kit of the visitors together in a folder: packages as locked, without their scripts, Deno and
# Bun where there are some for this machine, and the visitors that are compiled.
#
#   kit.sh FOLDER
set -eu
mkdir -p "$1/bin" "$1/classes"
kit=$(cd "$1" && pwd)
cd "$(dirname "$0")"
if [ ! -e "$kit/node_modules" ] || ! cmp -s package-lock.json "$kit/package-lock.json"; then
	cp package.json package-lock.json "$kit/"
	# A package for this system that a registry lacks makes `npm ci` refuse; the lock still holds for the rest.
	(cd "$kit" && { npm ci --ignore-scripts --no-audit --no-fund --loglevel=silent || npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error; })
fi
for program in "$kit"/node_modules/@deno/linux-*/deno "$kit"/node_modules/@oven/bun-linux-*/bin/bun; do
	[ ! -e "$program" ] || mv "$program" "$kit/bin/"
done
CGO_ENABLED=0 go build -ldflags "-s -w" -o "$kit/bin/" ./visit
if command -v javac >/dev/null 2>&1; then
	javac --release 17 -d "$kit/classes" Visit.java
else
	echo "visitors: no javac here: the one in Java is passed over." >&2
fi
