// What is approved is bytes, and JSON.parse loses some of what they say: a repeated key, the
// order of keys that look like numbers, digits of long numbers. This reader loses nothing.

export interface Member {
  key: string;
  value: Node;
}

export type Node =
  | { kind: "object"; start: number; end: number; members: Member[] }
  | { kind: "array"; start: number; end: number; items: Node[] }
  | { kind: "string"; start: number; end: number; value: string }
  | { kind: "other"; start: number; end: number; text: string };

const maxDepth = 400;

/** parse reads one JSON value whole. It throws a SyntaxError on anything else. */
export function parse(text: string): Node {
  const reader = new Reader(text);
  const node = reader.value(0);
  reader.space();
  if (reader.at < text.length) reader.fail();
  return node;
}

/** slice is the raw text of the value at path, undefined where there is none. */
export function slice(text: string, path: string[]): string | undefined {
  let node: Node = parse(text);
  for (const key of path) {
    if (node.kind !== "object") return undefined;
    const member: Member | undefined = node.members.findLast((m) => m.key === key);
    if (!member) return undefined;
    node = member.value;
  }
  return text.slice(node.start, node.end);
}

/** repeated names the keys that stand more than once in one object. */
export function repeated(node: Node): string[] {
  if (node.kind === "array") return [...new Set(node.items.flatMap(repeated))];
  if (node.kind !== "object") return [];
  const keys = node.members.map((m) => m.key);
  const here = keys.filter((k, i) => keys.indexOf(k) !== i);
  return [...new Set([...here, ...node.members.flatMap((m) => repeated(m.value))])];
}

/** pretty writes a value over several lines, every number and key as it was sent. */
export function pretty(node: Node, indent = ""): string {
  const inner = indent + "  ";
  switch (node.kind) {
    case "object":
      if (node.members.length === 0) return "{}";
      return `{\n${node.members.map((m) => `${inner}${JSON.stringify(m.key)}: ${pretty(m.value, inner)}`).join(",\n")}\n${indent}}`;
    case "array":
      if (node.items.length === 0) return "[]";
      return `[\n${node.items.map((n) => inner + pretty(n, inner)).join(",\n")}\n${indent}]`;
    case "string":
      return JSON.stringify(node.value);
    case "other":
      return node.text;
  }
}

class Reader {
  at = 0;
  constructor(private readonly text: string) {}

  fail(): never {
    throw new SyntaxError(`not JSON at ${this.at}`);
  }

  space() {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at++;
  }

  take(c: string) {
    this.space();
    if (this.text[this.at] !== c) this.fail();
    this.at++;
  }

  tryTake(c: string): boolean {
    this.space();
    if (this.text[this.at] !== c) return false;
    this.at++;
    return true;
  }

  value(depth: number): Node {
    if (depth > maxDepth) this.fail();
    this.space();
    const start = this.at;
    const c = this.text[start];
    if (c === "{") return { kind: "object", start, members: this.members(depth), end: this.at };
    if (c === "[") return { kind: "array", start, items: this.items(depth), end: this.at };
    if (c === '"') return { kind: "string", start, value: this.string(), end: this.at };
    return this.other(start);
  }

  members(depth: number): Member[] {
    const members: Member[] = [];
    this.take("{");
    if (this.tryTake("}")) return members;
    do {
      this.space();
      const key = this.string();
      this.take(":");
      members.push({ key, value: this.value(depth + 1) });
    } while (this.tryTake(","));
    this.take("}");
    return members;
  }

  items(depth: number): Node[] {
    const items: Node[] = [];
    this.take("[");
    if (this.tryTake("]")) return items;
    do items.push(this.value(depth + 1));
    while (this.tryTake(","));
    this.take("]");
    return items;
  }

  string(): string {
    const match = this.match(/"(?:[^"\\\u0000-\u001f]|\\.)*"/y);
    return JSON.parse(match) as string;
  }

  other(start: number): Node {
    const text = this.match(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    return { kind: "other", start, text, end: this.at };
  }

  match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (!found) this.fail();
    this.at += found.length;
    return found;
  }
}
