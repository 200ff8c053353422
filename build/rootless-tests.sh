#!/bin/sh
# Runs the tests that need real sandboxes, a browser or a bus, as an ordinary user.
#
#   build/rootless-tests.sh [--add COUNTS] [PACKAGE-DIR …] [-test.FLAG …]
#   build/rootless-tests.sh --others             lists the packages that need none of that
#
# They are the packages whose tests ask for something of the host (sandboxtest.Need, or need in
# daemon/e2e). Their test binaries are built here and run by build/rootless.sh. When root does this,
# the tree without its dependencies is copied to where that user can read it. What a test would
# skip for is a failure when $GARITA_REQUIRE names it.
set -eu
cd "$(dirname "$0")/.."

demanding=$(grep -rlE '\b[nN]eed\(tb?, |sandboxtest\.Program\(tb?, ' --include='*_test.go' --exclude-dir=node_modules --exclude-dir=build . | xargs -rn1 dirname | sort -u)

if [ "${1:-}" = --others ]; then
	go list -f '{{.Dir}}' ./... | while read -r dir; do
		echo "$demanding" | grep -qxF ".${dir#"$PWD"}" || echo ".${dir#"$PWD"}"
	done
	exit 0
fi

counts= only= flags=
while [ $# -gt 0 ]; do
	case $1 in
	--add) counts=$PWD/$2; shift ;;
	-*) flags="$flags $1" ;;
	*) only="$only ./${1#./}" ;;
	esac
	shift
done
[ -z "$only" ] || demanding=$(printf '%s\n' $only)
[ -n "$demanding" ] || { echo "rootless-tests: no package asks for anything of the host: nothing would be tested." >&2; exit 1; }

testdata=${GARITA_TESTDATA:-../shared/testdata}
tests=$(mktemp -d /tmp/garita-tests-XXXXXX)
trap 'chmod -R u+w "$tests"; rm -rf "$tests"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 1777 "$tests" # a test puts a program beside its own
tree=$PWD
path=$PWD/build/cache/testbin
if [ "$(id -u)" = 0 ]; then
	tree=$tests/tree
	mkdir "$tree"
	git ls-files -coz --exclude-standard | tar --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "$tree"
	cp -RL bin "$tree/bin"
	cp -RL build/cache/testbin "$tests/bin"
	[ ! -d frontend/dist ] || cp -R frontend/dist "$tree/frontend/"
	if [ -d frontend/node_modules/playwright-core ]; then
		mkdir -p "$tree/frontend/node_modules"
		cp -R frontend/node_modules/playwright-core frontend/node_modules/axe-core "$tree/frontend/node_modules/"
	fi
	path=$tests/bin
	if [ -x build/cache/visitors/bin/visit ]; then
		cp -RL build/cache/visitors "$tests/kit"
		export GARITA_KIT="$tests/kit"
	fi
	if [ -d "$testdata" ]; then
		cp -RL "$testdata" "$tests/testdata"
		testdata=$tests/testdata
	fi
fi
[ ! -d "$testdata" ] || export GARITA_TESTDATA="$(cd "$testdata" && pwd)"

race=-race
[ "${GARITA_RACE:-}" != off ] || race=
for dir in $demanding; do
	name=$(echo "${dir#./}" | tr / _)
	go test $race -c -o "$tests/$name.test" "$dir" || { echo "{\"Action\":\"fail\",\"Package\":\"$dir\"}" | build/cache/tools/testcount ${counts:+-add "$counts"}; exit 1; }
done

go build -o "$tests/test2json" cmd/test2json
cat >"$tests/run" <<'SCRIPT'
#!/bin/sh
# Runs one test binary after the other, in its package's folder.
tests=$1 tree=$2
shift 2
for dir in $GARITA_PACKAGES; do
	cd "$tree/$dir" || exit 1
	"$tests/test2json" -t -p "github.com/garita-dev/garita/${dir#./}" \
		"$tests/$(echo "${dir#./}" | tr / _).test" -test.v=test2json -test.shuffle=on -test.timeout=15m "$@"
done
exit 0 # what failed is in the results
SCRIPT
chmod 755 "$tests/run"

# The results are read as they come; that something was left behind is in the runner's own status.
{
	# shellcheck disable=SC2086 # lists of words
	GARITA_PACKAGES=$(echo $demanding) GARITA_BIN=$tree/bin PATH=$path:$PATH build/rootless.sh "$tests/run" "$tests" "$tree" $flags 3>&- ||
		echo "{\"Action\":\"output\",\"Package\":\"rootless\",\"Output\":\"build/rootless.sh failed, see above\\n\"}
{\"Action\":\"fail\",\"Package\":\"rootless\"}"
} | build/cache/tools/testcount ${counts:+-add "$counts"}
