import { Link } from "@tanstack/react-router";
import type { SecretUsed } from "@/api/types";
import { moment } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";

/** UsesList is each use: when, by which server for whom, to which host, in which call. */
export function UsesList({ label, uses }: { label: string; uses: SecretUsed[] }) {
  const t = useT();
  if (uses.length === 0) return <p className="m-0 px-3 py-2 text-ink2">{t("secrets.uses.none")}</p>;
  return (
    <ul aria-label={label} className="m-0 flex list-none flex-col p-0">
      {uses.map((u, i) => (
        <UseItem key={`${u.at} ${i}`} use={u} />
      ))}
    </ul>
  );
}

function UseItem({ use }: { use: SecretUsed }) {
  const t = useT();
  const locale = useLocale();
  return (
    <li className="flex flex-col gap-0.5 border-b border-line px-3 py-1.5 last:border-b-0">
      <span className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="min-w-0">
          <Foreign text={use.server} className="font-[550]" />{" "}
          {use.host ? (
            <>
              <span className="text-ink3">{t("secrets.use.to")}</span> <Foreign text={use.host} className="font-mono text-sm" />
            </>
          ) : (
            <span className="text-ink3">{t("secrets.use.handed")}</span>
          )}
        </span>
        <time dateTime={use.at} className="tabular text-sm text-ink3">
          {moment(use.at, locale)}
        </time>
      </span>
      <span className="flex flex-wrap gap-x-3 text-sm text-ink3">
        <Foreign text={t("secrets.use.for", { agent: use.agent, version: use.version })} />
        <CallLinks calls={use.calls} />
      </span>
    </li>
  );
}

/** CallLinks lead to the calls that were under way then. */
export function CallLinks({ calls }: { calls: string[] }) {
  const t = useT();
  return calls.map((call, i) => (
    <Link key={call} to="/calls" search={{ call }} className="text-sm text-info no-underline hover:underline">
      {calls.length === 1 ? t("secrets.use.call") : t("secrets.use.calls", { n: i + 1 })}
    </Link>
  ));
}
