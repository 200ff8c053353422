#!/bin/sh
# Visits a host with one program.
#
#   run.sh PROGRAM https://HOST[:PORT]      (http:// too)
#
# The token in $TOKEN, if any, goes along in the header Authorization. What the host said is printed;
# it exits with 0 when the host has answered. Programs that measure print "took MS" on standard error:
# from the beginning of the request to the answer, or the error. $KIT is the folder of the kit.
here=$(dirname "$0")
name=$1 url=$2 rest=${2#*://}
host=${rest%%:*}

case $name in
curl) curl -sS -m 60 -w '%{stderr}took %{time_total}s\n' ${TOKEN:+-H "Authorization: Bearer $TOKEN"} "$url/" ;;
curl-http1) curl -sS -m 60 --http1.1 -w '%{stderr}took %{time_total}s\n' ${TOKEN:+-u "me:$TOKEN"} "$url/" ;;
wget) wget -qO- -T 60 ${TOKEN:+--header "Authorization: token $TOKEN"} "$url/" ;;
git)
	[ -z "$TOKEN" ] || url=${url%%://*}://x-access-token:$TOKEN@$rest
	GIT_TERMINAL_PROMPT=0 git ls-remote "$url/repo.git" && echo "hello from git"
	;;
npm)
	npmrc=$(mktemp)
	printf '//%s/:_authToken=${TOKEN}\n' "$rest" >"$npmrc"
	NPM_CONFIG_USERCONFIG=$npmrc TOKEN=${TOKEN:-none} npm view --registry "$url" some-package description
	;;
pip)
	trusted=
	case $url in http://*) trusted="--trusted-host $host" ;; esac
	PYTHONPATH=$(echo /usr/share/python-wheels/pip-*.whl) /usr/bin/python3 -m pip index versions --disable-pip-version-check $trusted --index-url "$url/simple" some-package && echo "hello from pip"
	;;
node-fetch) node "$here/fetch.mjs" "$url/" ;;
node-http | node-undici | node-ws | node-grpc) node "$here/${name#node-}.cjs" "$url" ;;
node-websocket) node --experimental-websocket --no-warnings "$here/websocket.mjs" "$url" ;;
deno) DENO_NO_UPDATE_CHECK=1 "$KIT/bin/deno" run -A --no-config --no-lock "$here/fetch.mjs" "$url/" ;;
bun) "$KIT/bin/bun" run "$here/fetch.mjs" "$url/" ;;
python-*) /usr/bin/python3 "$here/visit_${name#python-}.py" "$url" ;;
go) "$KIT/bin/visit" get "$url/" ;;
go-*) "$KIT/bin/visit" "${name#go-}" "$url" ;;
java) java -XX:TieredStopAtLevel=1 -Xshare:auto -cp "$KIT/classes" Visit "$url/" ;;
chromium)
	# It has its own idea of whom to believe, and no sandbox of its own fits into ours.
	page=$(chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --ignore-certificate-errors --enable-quic \
		--no-first-run --user-data-dir="$(mktemp -d)" --dump-dom "$url/page" 2>/dev/null)
	echo "$page"
	case $page in *"hello from"*) ;; *) false ;; esac
	;;
*) echo "run.sh: nobody knows $name" >&2; exit 2 ;;
esac
