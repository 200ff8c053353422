import { useMemo, useState } from "react";
import { cx } from "@/lib/cx";
import { count, parse, type Line } from "@/lib/diff";
import { useT } from "@/lib/i18n";
import { split } from "@/lib/visible";
import { Foreign, Segments } from "./foreign";
import { useUnseen } from "./unseen";

const fold = 400;

interface Props {
  path: string;
  unified: string;
  note?: string | undefined;
}

/** Diff shows one file's unified diff, whole: long lines wrap, nothing hides beyond an edge, and
 * what cannot be seen is marked. */
export function Diff({ path, unified, note }: Props) {
  const t = useT();
  const lines = useMemo(() => parse(unified), [unified]);
  const { added, removed } = useMemo(() => count(lines), [lines]);
  const [open, setOpen] = useState(false);
  const shown = open ? lines : lines.slice(0, fold);
  useUnseen(shown.length < lines.length);
  return (
    <figure
      aria-label={t("diff.label", { path })}
      className="m-0 overflow-hidden rounded-lg border border-line bg-raised font-mono text-sm leading-[1.55]"
    >
      <figcaption className="flex items-baseline gap-3 border-b border-line bg-sunken px-3 py-1 text-ink2">
        <Foreign text={path} className="min-w-0 flex-1" />
        <span className="shrink-0">
          <span className="text-ok">+{added}</span> <span className="text-no">−{removed}</span>
        </span>
      </figcaption>
      {lines.length === 0 && <p className="m-0 px-3 py-2 font-sans text-ink3">{note || t("diff.none")}</p>}
      <div className="py-1">
        {shown.map((line, i) => (
          <DiffLine key={i} line={line} first={i === 0} />
        ))}
      </div>
      {shown.length < lines.length && (
        <button
          type="button"
          onClick={() => setOpen(true)}
          className="w-full border-t border-line px-3 py-1.5 text-left font-sans text-info hover:underline"
        >
          {t("common.lines", { n: lines.length - shown.length })}
        </button>
      )}
    </figure>
  );
}

const looks: Record<Line["kind"], string> = {
  same: "",
  add: "bg-ok-bg text-ok",
  del: "bg-no-bg text-no",
  hunk: "",
  note: "text-ink3",
};

const signs: Record<Line["kind"], string> = { same: " ", add: "+", del: "−", hunk: " ", note: " " };

function DiffLine({ line, first }: { line: Line; first: boolean }) {
  if (line.kind === "hunk") return first ? null : <div className="my-1 border-t border-dashed border-line2" />;
  return (
    <div className={cx("flex", looks[line.kind])}>
      <Gutter n={line.before} />
      <Gutter n={line.after} />
      <span className="w-5 shrink-0 pl-1 select-none">{signs[line.kind]}</span>
      <code className="foreign min-w-0 flex-1 pr-3 whitespace-pre-wrap">
        <DiffText line={line} />
      </code>
    </div>
  );
}

function Gutter({ n }: { n: number | undefined }) {
  return (
    <span
      aria-hidden
      className="tabular w-8 shrink-0 pr-2 text-right text-xs leading-[1.7] text-ink3 select-none max-[560px]:hidden"
    >
      {n}
    </span>
  );
}

function DiffText({ line }: { line: Line }) {
  if (!line.changed) return <Segments segments={split(line.text, false)} />;
  const [from, to] = line.changed;
  return (
    <>
      <Segments segments={split(line.text.slice(0, from), false)} />
      <span className={cx("rounded-[3px]", line.kind === "add" ? "bg-ok-strong" : "bg-no-strong")}>
        <Segments segments={split(line.text.slice(from, to), false)} />
      </span>
      <Segments segments={split(line.text.slice(to), false)} />
    </>
  );
}
