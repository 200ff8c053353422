// A small MCP server that reads a status from the hosts it is started with.
import { createInterface } from "node:readline";

const tool = {
  name: "get_status",
  description: "Gets the status.",
  inputSchema: { type: "object" },
  annotations: { readOnlyHint: true },
};
const all = async () =>
  (await Promise.all(process.argv.slice(2).map(status))).join("\n");
const status = (host) =>
  fetch(`https://${host}/`).then(
    (r) => r.text(),
    (e) => `failed: ${e.cause?.code ?? e}`,
  );

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  let result = {};
  if (method === "initialize")
    result = {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "reach", version: "1" },
    };
  if (method === "tools/list") result = { tools: [tool] };
  if (method === "tools/call")
    result = {
      content: [{ type: "text", text: await all() }],
    };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
