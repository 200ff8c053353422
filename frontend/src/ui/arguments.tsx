import { useMemo, useState } from "react";
import { useT } from "@/lib/i18n";
import { parse, pretty, repeated, type Node } from "@/lib/raw-json";
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
        node.members
          .filter((m) => !except.includes(m.key))
          .map((m, i) => (
            <ForeignBlock
              key={i}
              from="agent"
              label={<Foreign text={m.key} />}
              text={m.value.kind === "string" ? m.value.value : pretty(m.value)}
            />
          ))
      )}
      {node?.kind === "object" && except.length === 0 && (
        <button type="button" onClick={() => setAsSent(!asSent)} className="self-start text-sm text-info hover:underline">
          {asSent ? t("approval.asFields") : t("approval.asSent")}
        </button>
      )}
    </div>
  );
}

function read(raw: string): Node | undefined {
  try {
    return parse(raw);
  } catch {
    return undefined; // shown as it is
  }
}
