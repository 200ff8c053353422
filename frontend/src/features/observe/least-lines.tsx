import type { LeastLine } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT, type Key } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Foreign } from "@/ui/foreign";
import { Said } from "@/ui/said";

interface Props {
  lines: LeastLine[];
  busy: boolean;
  toggle: (line: LeastLine) => void;
}

interface Look {
  sign: string;
  tone: string;
}

const looks: Record<string, Look> = {
  keep: { sign: "=", tone: "text-ink3" },
  add: { sign: "+", tone: "text-ok" },
  remove: { sign: "−", tone: "text-no" },
  suggest: { sign: "?", tone: "text-info" },
  refuse: { sign: "!", tone: "text-no" },
  tell: { sign: "·", tone: "text-ink3" },
};

const parts = ["network", "tools", "secrets", "workspace", "mounts", "commands"];

/** LeastLines is a proposal line by line: what would become of each thing, and why. What can be taken or left has a box. */
export function LeastLines({ lines, busy, toggle }: Props) {
  const t = useT();
  if (lines.length === 0) return <p className="m-0 px-5 py-4 text-ink2 max-[480px]:px-4">{t("observe.lines.none")}</p>;
  const known = parts.filter((p) => lines.some((l) => l.part === p));
  const others = [...new Set(lines.map((l) => l.part))].filter((p) => !parts.includes(p));
  return (
    <div className="@container">
      {[...known, ...others].map((part) => (
        <section key={part} className="grid grid-cols-[120px_1fr] border-b border-line last:border-b-0 @max-[560px]:grid-cols-1">
          <h3 className="m-0 py-2.5 pl-5 text-base font-[550] @max-[560px]:pt-3 @max-[560px]:pb-0 @max-[560px]:pl-4">
            {parts.includes(part) ? t(`observe.part.${part}` as Key) : <Foreign text={part} />}
          </h3>
          <ul
            aria-label={parts.includes(part) ? t(`observe.part.${part}` as Key) : part}
            className="m-0 flex list-none flex-col py-1.5 pr-5 @max-[560px]:px-4"
          >
            {lines
              .filter((l) => l.part === part)
              .map((line, i) => (
                <Line key={`${line.change} ${line.what} ${i}`} line={line} busy={busy} toggle={toggle} />
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Line({ line, busy, toggle }: { line: LeastLine; busy: boolean; toggle: (line: LeastLine) => void }) {
  const t = useT();
  const look = looks[line.change] ?? looks["tell"]!;
  const known = line.change in looks;
  const about = (
    <>
      <span className={cx("text-sm font-[550]", look.tone)}>
        {known ? t(`observe.change.${line.change}` as Key) : line.change}
      </span>
      <span className="text-ink3"> · </span>
      <Said text={line.why} className="text-sm text-ink2" />
    </>
  );
  return (
    <li className="flex items-start gap-2.5 py-1">
      {choosable(line) ? (
        <input
          type="checkbox"
          checked={taken(line)}
          disabled={busy}
          onChange={() => toggle(line)}
          aria-label={t("observe.take", { what: visible(line.what) })}
          className="mt-[3px] size-3.5 shrink-0 accent-info"
        />
      ) : (
        <span aria-hidden className={cx("w-3.5 shrink-0 text-center font-mono font-[600]", look.tone)}>
          {look.sign}
        </span>
      )}
      <span className="min-w-0">
        <Foreign
          text={line.what}
          className={cx("block font-mono text-sm", line.change === "remove" && "line-through decoration-ink3")}
        />
        <span className="block leading-[1.35]">{about}</span>
      </span>
    </li>
  );
}

/** choosable says whether the person may take or leave a line. */
function choosable(line: LeastLine): boolean {
  return line.mount !== undefined && line.mount !== "";
}

function taken(line: LeastLine): boolean {
  return line.change !== "suggest";
}
