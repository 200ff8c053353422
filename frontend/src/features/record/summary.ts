// What stands in an entry, on one line: the sentence of its call, then what is short and says something.

const dull = new Set(["call", "binding", "spec", "sandbox", "instance", "id", "at", "session", "workspace", "limits"]);
const most = 160;

/** summary tells an entry's contents; all of it is one click away. */
export function summary(body: unknown): string {
  if (!isObject(body)) return JSON.stringify(body) ?? "";
  const call = isObject(body["call"]) ? body["call"] : undefined;
  const decision = isObject(body["decision"]) ? body["decision"] : undefined;
  const parts = [text(call?.["sentence"] ?? call?.["tool"]), ...plain(decision ?? {}), ...plain(body)];
  return parts.filter(Boolean).join(" · ").slice(0, most);
}

function plain(value: Record<string, unknown>): string[] {
  return Object.entries(value)
    .filter(([k, v]) => !dull.has(k) && v !== "" && v !== null && (typeof v !== "object" || (Array.isArray(v) && v.length > 0)))
    .map(([k, v]) => `${k.replaceAll("_", " ")} ${Array.isArray(v) ? v.map(item).join(", ") : text(v)}`);
}

function item(value: unknown): string {
  return isObject(value) ? text(value["path"] ?? value["name"] ?? JSON.stringify(value)) : text(value);
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
