import { Link } from "@tanstack/react-router";
import { useSecrets } from "@/api/secrets";
import { useT } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";

/** ServerSecrets is the secrets that a server may use, each with how, and the way to the page about them. */
export function ServerSecrets({ name }: { name: string }) {
  const t = useT();
  const secrets = useSecrets().data?.secrets;
  const used = (secrets ?? []).flatMap((s) => s.grants.filter((g) => g.server === name).map((grant) => ({ ...s, grant })));
  if (secrets && used.length === 0) return <span className="text-ink2">{t("servers.secrets.none")}</span>;
  return (
    <ul className="m-0 flex list-none flex-col gap-0.5 p-0">
      {used.map((s) => (
        <li key={s.name} className="flex flex-wrap items-baseline gap-x-2">
          <Link to="/secrets" search={{ secret: s.name }} className="text-info no-underline hover:underline">
            <Foreign text={s.name} className="font-mono text-sm" />
          </Link>
          {s.missing || s.expired ? (
            <span className="flex items-center gap-1 text-sm text-no">
              <Icon name="warn" size={12} />
              {t(s.missing ? "secrets.missing" : "secrets.expired")}
            </span>
          ) : (
            <span className="text-sm text-ink3">{t(s.grant.weaker ? "secrets.cell.holds" : "secrets.cell.placeholder")}</span>
          )}
        </li>
      ))}
    </ul>
  );
}
