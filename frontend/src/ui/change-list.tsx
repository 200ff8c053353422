import { useT, type Key } from "@/lib/i18n";
import { Foreign } from "./foreign";
import { Sign } from "./sign";

interface Change {
  path: string;
  kind: string;
  held?: string | undefined;
}

/** ChangeList is paths and what happened to them. */
export function ChangeList({ changes }: { changes: Change[] }) {
  const t = useT();
  return (
    <ul className="m-0 flex list-none flex-col gap-1 p-0">
      {changes.map((c) => (
        <li key={c.path} className="flex items-baseline gap-2">
          <Sign kind={c.kind} />
          <Foreign text={c.path} className="min-w-0 font-mono text-sm" />
          <span className="text-sm text-ink3">{t(`common.${c.kind}` as Key)}</span>
          {c.held && <span className="text-sm text-wait">{t("common.held")}</span>}
        </li>
      ))}
    </ul>
  );
}
