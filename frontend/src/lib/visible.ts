// Text of servers and agents is hostile: it may hold characters that cannot be seen, that turn
// the direction of what follows, or that drive a terminal. split makes each of them a mark.

export interface Segment {
  text: string;
  /** Set for a character that would not be seen: its name, for people. */
  mark?: string;
}

const named: Record<number, string> = {
  0x00: "NUL",
  0x07: "BEL",
  0x08: "BACKSPACE",
  0x0b: "VERTICAL TAB",
  0x0c: "FORM FEED",
  0x0d: "RETURN",
  0x1b: "ESCAPE",
  0x7f: "DELETE",
  0xa0: "NO-BREAK SPACE",
  0xad: "SOFT HYPHEN",
  0x61c: "ARABIC LETTER MARK",
  0x200b: "ZERO WIDTH SPACE",
  0x200c: "ZERO WIDTH NON-JOINER",
  0x200d: "ZERO WIDTH JOINER",
  0x200e: "LEFT-TO-RIGHT MARK",
  0x200f: "RIGHT-TO-LEFT MARK",
  0x2028: "LINE SEPARATOR",
  0x2029: "PARAGRAPH SEPARATOR",
  0x202a: "LEFT-TO-RIGHT EMBEDDING",
  0x202b: "RIGHT-TO-LEFT EMBEDDING",
  0x202c: "POP DIRECTION",
  0x202d: "LEFT-TO-RIGHT OVERRIDE",
  0x202e: "RIGHT-TO-LEFT OVERRIDE",
  0x2060: "WORD JOINER",
  0x2066: "LEFT-TO-RIGHT ISOLATE",
  0x2067: "RIGHT-TO-LEFT ISOLATE",
  0x2068: "FIRST STRONG ISOLATE",
  0x2069: "POP ISOLATE",
  0xfeff: "BYTE ORDER MARK",
};

// Control, format, private, surrogate and unassigned code points; separators but the plain space;
// letters that have no shape (Hangul fillers, braille blank, Mongolian and variation selectors).
const unseen =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;

/** split cuts text at what cannot be seen. Tabs pass; line ends pass when multiline. On one line, as
 * paths and hosts are, letters that pass for others are marked too. */
export function split(text: string, multiline: boolean): Segment[] {
  const out: Segment[] = [];
  const alike = multiline ? new Set<number>() : lookalikes(text);
  let plain = "";
  let at = 0;
  for (const c of text) {
    const masked = alike.has(at);
    at += c.length;
    if (!masked && (!unseen.test(c) || c === "\t" || (multiline && c === "\n"))) {
      plain += c;
      continue;
    }
    if (plain) out.push({ text: plain });
    plain = "";
    out.push({ text: short(c), mark: describe(c) });
  }
  if (plain) out.push({ text: plain });
  return out;
}

/** visible is split as one string, for titles and labels. */
export function visible(text: string): string {
  return split(text, false)
    .map((s) => s.text)
    .join("");
}

function short(c: string): string {
  if (c === "\n") return "⏎";
  return `⟨${code(c)}⟩`;
}

function describe(c: string): string {
  const point = c.codePointAt(0) ?? 0;
  if (c === "\n") return "U+000A LINE END";
  return [code(c), named[point] ?? kind(c)].join(" ");
}

function kind(c: string): string {
  if (foreignLetter.test(c)) return "LOOK-ALIKE LETTER";
  if (/\p{Cc}/u.test(c)) return "CONTROL CHARACTER";
  if (/\p{Co}/u.test(c)) return "PRIVATE USE";
  if (/\p{Z}/u.test(c)) return "UNUSUAL SPACE";
  return "INVISIBLE CHARACTER";
}

function code(c: string): string {
  return "U+" + (c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

const foreignLetter = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u;

/** lookalikes are where, in words that are Latin otherwise, letters of scripts stand that look like it. */
function lookalikes(text: string): Set<number> {
  const found = new Set<number>();
  if (!foreignLetter.test(text)) return found;
  for (const word of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (!/\p{Script=Latin}/u.test(word[0])) continue;
    for (let i = 0; i < word[0].length; i++) if (foreignLetter.test(word[0][i]!)) found.add(word.index + i);
  }
  return found;
}

/** ascii writes a word as what it is to a machine: a host as it is looked up, else its letters' numbers. */
export function ascii(word: string): string {
  return word.replace(/[^\x20-\x7e]/gu, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

/** hosts are the addresses in text whose host is not ASCII, with the host as it is looked up. */
export function hosts(text: string): string[] {
  const found = text.match(/\bhttps?:\/\/[^\s"'<>/]*[^\s\x00-\x7f"'<>/][^\s"'<>/]*/gu) ?? [];
  return [...new Set(found.map((url) => (URL.canParse(url) ? new URL(url).host : ascii(url))))];
}

/** scriptsMixed finds words that mix Latin with letters that look like Latin ones. */
export function scriptsMixed(text: string): string[] {
  const words = text.match(/[\p{L}\p{M}\p{N}_-]+/gu) ?? [];
  const mixed = words.filter(
    (w) => /\p{Script=Latin}/u.test(w) && /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u.test(w),
  );
  return [...new Set(mixed)];
}
