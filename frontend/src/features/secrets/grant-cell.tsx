import type { SecretGrant } from "@/api/types";
import { minute } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";

interface Props {
  secret: string;
  grant: SecretGrant;
  revoke: () => void;
}

/** GrantCell is how one server may use one secret, in words. */
export function GrantCell({ secret, grant, revoke }: Props) {
  const t = useT();
  const locale = useLocale();
  const over = grant.in_force === false;
  return (
    <div className="flex min-w-0 flex-col items-start gap-0.5" title={grant.words && visible(grant.words)}>
      {grant.weaker ? (
        <span className="flex items-start gap-1 font-[550] text-no">
          <Icon name="warn" size={12} className="mt-[3px]" />
          {t("secrets.cell.holds")}
        </span>
      ) : (
        <span className="flex items-center gap-1 font-[550] text-ok">
          <Icon name="check" size={12} />
          {t(grant.mode === "sent" ? "secrets.cell.sent" : "secrets.cell.placeholder")}
        </span>
      )}
      {grant.hosts.map((h) => (
        <Foreign key={h} text={h.replace(/:443$/, "")} className="font-mono text-sm" />
      ))}
      <span className="text-sm text-ink2">
        {grant.weaker ? (
          <Foreign text={grant.env ?? grant.file ?? grant.arg ?? ""} className="font-mono" />
        ) : grant.tools.length > 0 ? (
          <Foreign text={t("secrets.cell.tools", { tools: grant.tools.join(", ") })} />
        ) : (
          t("secrets.cell.anyTool")
        )}
        {grant.ask && <> · {t("secrets.cell.asks")}</>}
      </span>
      {grant.until && (
        <span className={over ? "text-sm text-no" : "text-sm text-ink2"}>
          {t(over ? "secrets.cell.ended" : "secrets.cell.until", { time: minute(grant.until, locale) })}
        </span>
      )}
      <button
        type="button"
        onClick={revoke}
        aria-label={`${t("secrets.revoke")}: ${visible(secret)}, ${visible(grant.server)}`}
        className="mt-0.5 text-sm text-ink3 underline-offset-2 hover:text-no hover:underline"
      >
        {t("secrets.revoke")}
      </button>
    </div>
  );
}
