// Reads unified diffs and finds what changed inside a line.

export interface Line {
  kind: "same" | "add" | "del" | "hunk" | "note";
  text: string;
  before?: number;
  after?: number;
  /** Where in text the change is, [start, end); undefined when the whole line is new. */
  changed?: [number, number];
}

const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** parse reads a unified diff of one file; its file headers are left out. */
export function parse(unified: string): Line[] {
  const lines: Line[] = [];
  let before = 0;
  let after = 0;
  let started = false;
  for (const raw of unified.replace(/\n$/, "").split("\n")) {
    const head = hunk.exec(raw);
    if (head) {
      before = Number(head[1]);
      after = Number(head[2]);
      started = true;
      lines.push({ kind: "hunk", text: raw });
    } else if (started) {
      lines.push(body(raw, before, after));
      if (!raw.startsWith("+") && !raw.startsWith("\\")) before++;
      if (!raw.startsWith("-") && !raw.startsWith("\\")) after++;
    }
  }
  return pair(lines);
}

function body(raw: string, before: number, after: number): Line {
  const text = raw.slice(1);
  if (raw.startsWith("+")) return { kind: "add", text, after };
  if (raw.startsWith("-")) return { kind: "del", text, before };
  if (raw.startsWith("\\")) return { kind: "note", text: text.trim() };
  return { kind: "same", text, before, after };
}

/** pair marks the changed part of lines that were replaced one for one. */
function pair(lines: Line[]): Line[] {
  for (let i = 0; i < lines.length;) {
    const dels = run(lines, i, "del");
    const adds = run(lines, i + dels, "add");
    if (dels > 0 && dels === adds) {
      for (let k = 0; k < dels; k++) mark(lines[i + k]!, lines[i + dels + k]!);
    }
    i += Math.max(1, dels + adds);
  }
  return lines;
}

function run(lines: Line[], from: number, kind: Line["kind"]): number {
  let n = 0;
  while (lines[from + n]?.kind === kind) n++;
  return n;
}

function mark(del: Line, add: Line) {
  const a = del.text;
  const b = add.text;
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  if (head + tail < Math.max(a.length, b.length) * 0.3) return; // another line, not an edit
  del.changed = [head, a.length - tail];
  add.changed = [head, b.length - tail];
}

/** count says how many lines were added and taken away. */
export function count(lines: Line[]): { added: number; removed: number } {
  return {
    added: lines.filter((l) => l.kind === "add").length,
    removed: lines.filter((l) => l.kind === "del").length,
  };
}
