import { useMemo, useState } from "react";
import { useT } from "@/lib/i18n";
import { parse, pretty, repeated, type Member, type Node } from "@/lib/raw-json";
import { hosts, scriptsMixed } from "@/lib/visible";
import { Foreign } from "./foreign";
import { ForeignBlock } from "./foreign-block";

interface Props {
  raw: string;
  /** Fields that are shown in another way beside it. */
  except?: string[];
}

/** Arguments shows what a tool is called with, whole: field by field, or the very text. */
export function Arguments({ raw, except = [] }: Props) {
  const t = useT();
  const [asSent, setAsSent] = useState(false);
  const node = useMemo(() => read(raw), [raw]);
  const doubled = useMemo(() => (node ? repeated(node) : []), [node]);
  return (
    <div className="flex flex-col gap-2">
      {doubled.length > 0 && <p className="m-0 text-no">{t("approval.repeated", { keys: doubled.join(", ") })}</p>}
      {asSent || node?.kind !== "object" ? (
        <ForeignBlock text={raw} from="agent" label={t("approval.asSent")} />
      ) : (
        runs(node.members.filter((m) => !except.includes(m.key))).map((run, i) =>
          run.length > 1 || plain(run[0]!) ? (
            <Rows key={i} members={run} />
          ) : (
            <ForeignBlock key={i} from="agent" label={<Foreign text={run[0]!.key} />} text={written(run[0]!)} />
          ),
        )
      )}
      {node?.kind === "object" && except.length === 0 && (
        <button type="button" onClick={() => setAsSent(!asSent)} className="self-start text-sm text-info hover:underline">
          {asSent ? t("approval.asFields") : t("approval.asSent")}
        </button>
      )}
    </div>
  );
}

const short = 90;

const written = (m: Member) => (m.value.kind === "string" ? m.value.value : pretty(m.value));

/** plain says whether a value needs no more than a line, and no remark. */
function plain(m: Member): boolean {
  const text = written(m);
  return text.length + m.key.length < short && !text.includes("\n") && scriptsMixed(text).length + hosts(text).length === 0;
}

/** runs puts plain values that follow each other together, in the order they are sent. */
function runs(members: Member[]): Member[][] {
  const out: Member[][] = [];
  for (const m of members) {
    const last = out.at(-1);
    if (last && plain(m) && plain(last[0]!)) last.push(m);
    else out.push([m]);
  }
  return out;
}

/** Rows are short values under each other, whole. */
function Rows({ members }: { members: Member[] }) {
  const t = useT();
  return (
    <figure className="m-0 overflow-hidden rounded-lg border border-line bg-sunken">
      <figcaption className="border-b border-line bg-surface px-3 py-1 text-right text-sm text-ink3">
        {t("common.fromAgent")}
      </figcaption>
      <dl className="m-0 grid grid-cols-[minmax(88px,max-content)_1fr] gap-x-4 gap-y-0.5 px-3 py-2 font-mono text-sm">
        {members.map((m, i) => (
          <div key={i} className="contents">
            <dt className="text-ink2">
              <Foreign text={m.key} />
            </dt>
            <dd className="m-0 min-w-0 whitespace-pre-wrap text-ink">
              {written(m) === "" ? (
                <span className="font-sans text-ink3">{t("common.emptyText")}</span>
              ) : (
                <Foreign text={written(m)} />
              )}
            </dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}

function read(raw: string): Node | undefined {
  try {
    return parse(raw);
  } catch {
    return undefined; // shown as it is
  }
}
