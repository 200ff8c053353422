import { useMemo } from "react";
import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import { split } from "@/lib/visible";
import { Foreign, Segments } from "./foreign";

interface Line {
  mark: "+" | "-" | " ";
  text: string;
}

interface Part {
  title: string;
  lines: Line[];
}

/** DefinitionDiff is what a server says of itself, before and after: a part per item, a head per field,
 * every line whole, and what cannot be seen written out. */
export function DefinitionDiff({ text, name }: { text: string; name: string }) {
  const t = useT();
  const parts = useMemo(() => read(text, name), [text, name]);
  if (parts.length === 0) return <p className="m-0 text-ink3">{t("diff.none")}</p>;
  return parts.map((part, i) => (
    <figure
      key={i}
      aria-label={t("diff.label", { path: part.title })}
      className="m-0 overflow-hidden rounded-lg border border-line bg-raised font-mono text-sm leading-[1.55]"
    >
      <figcaption className="flex items-baseline justify-between gap-3 border-b border-line bg-sunken px-3 py-1 text-ink2">
        <Foreign text={part.title} />
        <span className="shrink-0 font-sans text-ink3">{t("common.fromServer")}</span>
      </figcaption>
      <div className="py-1">
        {part.lines.map((line, k) => (
          <DefinitionLine key={k} line={line} />
        ))}
      </div>
    </figure>
  ));
}

function DefinitionLine({ line }: { line: Line }) {
  if (line.mark === " ") {
    return (
      <div className="px-3 pt-1 text-ink2">
        <Foreign text={line.text} />
      </div>
    );
  }
  const added = line.mark === "+";
  return (
    <div className={cx("flex", added ? "bg-ok-bg text-ok" : "bg-no-bg text-no")}>
      <span className="w-6 shrink-0 pl-3 select-none">{added ? "+" : "−"}</span>
      <code className="foreign min-w-0 flex-1 pr-3 whitespace-pre-wrap">
        <Segments segments={split(line.text, false)} />
      </code>
    </div>
  );
}

function read(text: string, name: string): Part[] {
  const parts: Part[] = [];
  for (const raw of text.replace(/\n$/, "").split("\n")) {
    if (raw.startsWith("--- ") || raw.startsWith("+++ ") || raw === "") continue;
    const head = /^@@ (.*) @@$/.exec(raw);
    if (head) parts.push({ title: /^[-+\d, ]+$/.test(head[1]!) ? name : head[1]!, lines: [] });
    else {
      if (parts.length === 0) parts.push({ title: name, lines: [] });
      const mark = raw[0] === "+" || raw[0] === "-" ? raw[0] : " ";
      parts.at(-1)!.lines.push({ mark, text: raw.slice(1) });
    }
  }
  return parts;
}
