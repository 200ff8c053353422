# An MCP client in shell: it opens a session with the server named $1, lists its tools, and stays
# until the server ends. The file "ready" says that it has got that far.
set -u
coproc SERVER { exec garita connect "$1" --client test; }
bridge=$SERVER_PID
say() { printf '%s\n' "$1" >&"${SERVER[1]}"; }
say '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}'
read -r -t 90 line <&"${SERVER[0]}" || exit 9
say '{"jsonrpc":"2.0","method":"notifications/initialized"}'
say '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
read -r -t 90 line <&"${SERVER[0]}" || exit 9
echo "$line"
touch ready
[ -z "${2:-}" ] || say "$2"
cat <&"${SERVER[0]}"
wait "$bridge"
