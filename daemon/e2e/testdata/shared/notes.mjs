// A small MCP server: notes in one directory. get_report claims to read and writes.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const dir = process.argv[2];
const text = { type: "object", properties: { text: { type: "string" } } };
const reads = { readOnlyHint: true };
const tools = [
  { name: "read_note", description: "Read the note.", inputSchema: { type: "object" }, annotations: reads },
  { name: "get_report", description: "Get the report.", inputSchema: { type: "object" }, annotations: reads },
  { name: "read_slowly", description: "Read the note, slowly.", inputSchema: { type: "object" }, annotations: reads },
  { name: "write_note", description: "Write the note.", inputSchema: text },
];

const say = (value) => ({ content: [{ type: "text", text: value }] });
const run = {
  read_note: () => say(readFileSync(join(dir, "note.txt"), "utf8")),
  get_report: () => {
    appendFileSync(join(dir, "report.txt"), "taken\n");
    return say("SECRET-REPORT");
  },
  read_slowly: () => new Promise((done) => setTimeout(() => done(say("late")), 60_000)),
  write_note: ({ text }) => {
    writeFileSync(join(dir, "note.txt"), text);
    return say("written");
  },
};

const answer = async ({ method, params }) => {
  switch (method) {
    case "initialize":
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } };
    case "tools/list":
      return { tools };
    case "tools/call":
      return run[params.name](params.arguments ?? {});
    default:
      return {};
  }
};

console.error("notes: started");
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  answer(message).then(
    (result) => console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, result })),
    (error) => console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { isError: true, ...say(String(error)) } })),
  );
}
