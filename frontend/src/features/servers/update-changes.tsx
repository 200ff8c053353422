import type { ToolUpdate, Update } from "@/api/types";
import { useT, type Key } from "@/lib/i18n";
import { Badge } from "@/ui/badge";
import { DefinitionDiff } from "@/ui/definition-diff";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { Section } from "@/ui/section";

/** UpdateChanges is what another version would change: packages, install scripts and tools, each as a difference. */
export function UpdateChanges({ update }: { update: Update }) {
  const t = useT();
  return (
    <>
      <Section label={t("update.version")}>
        <p className="m-0 font-mono text-sm">
          <Foreign text={update.from} className="text-ink2" /> <span aria-hidden>→</span>
          <span className="sr-only">{t("replay.becomes")}</span> <Foreign text={update.to} className="font-[600]" />
        </p>
      </Section>
      <Notes label={t("servers.notices")} lines={update.notes} />
      <Notes label={t("update.scripts")} lines={update.scripts} />
      <Section label={t("update.tools", { n: update.tools.length })}>
        {update.tools.length === 0 ? (
          <p className="m-0 text-ink2">{t("update.tools.none")}</p>
        ) : (
          <ul aria-label={t("update.tools", { n: update.tools.length })} className="m-0 flex list-none flex-col gap-3 p-0">
            {update.tools.map((tool) => (
              <ToolItem key={tool.name} tool={tool} />
            ))}
          </ul>
        )}
      </Section>
      <Packages update={update} />
    </>
  );
}

function Notes({ label, lines }: { label: string; lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <Section label={label}>
      <ul className="m-0 flex list-none flex-col gap-1.5 p-0">
        {lines.map((line) => (
          <li key={line} className="flex gap-2">
            <Icon name="warn" size={14} className="mt-0.5 text-ink3" />
            <Foreign text={line} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function ToolItem({ tool }: { tool: ToolUpdate }) {
  const t = useT();
  const wider = tool.was !== undefined && tool.is !== undefined && tool.was !== tool.is;
  return (
    <li className="flex flex-col gap-1.5">
      <div className="flex flex-wrap items-center gap-2">
        <Foreign text={tool.name} className="min-w-0 flex-1 font-mono text-sm font-[600]" />
        {wider && (
          <Badge tone="no" icon="warn">
            {t(`class.${tool.was}` as Key)} → {t(`class.${tool.is}` as Key)}
          </Badge>
        )}
        <Badge tone={tool.change === "gone" ? "plain" : "info"} icon={tool.change === "gone" ? "cross" : "warn"}>
          {t(`update.change.${tool.change}` as Key)}
        </Badge>
      </div>
      {tool.findings.map((f) => (
        <span key={f} className="flex gap-2 text-no">
          <Icon name="warn" size={14} className="mt-0.5" />
          <Foreign text={f} />
        </span>
      ))}
      {tool.diff && <DefinitionDiff text={tool.diff} name={tool.name} />}
    </li>
  );
}

function Packages({ update }: { update: Update }) {
  const t = useT();
  if (update.packages.length === 0) return null;
  return (
    <Section>
      <details>
        <summary className="text-info">{t("update.packages", { n: update.packages.length })}</summary>
        <table className="mt-2 w-full table-fixed border-collapse">
          <thead>
            <tr className="text-left text-sm text-ink3 [&>th]:font-normal">
              <th scope="col">{t("servers.package")}</th>
              <th scope="col" className="w-[110px]">
                {t("pins.was")}
              </th>
              <th scope="col" className="w-[110px]">
                {t("pins.is")}
              </th>
            </tr>
          </thead>
          <tbody className="font-mono text-sm">
            {update.packages.map((p) => (
              <tr key={p.name} className="align-top [&>*]:py-0.5 [&>*]:pr-2">
                <th scope="row" className="text-left font-normal">
                  <Foreign text={p.name} />
                </th>
                <td className="text-no">
                  {p.before ? <Foreign text={p.before} /> : <span className="text-ink3">{t("pins.new")}</span>}
                </td>
                <td className="text-ok">
                  {p.after ? <Foreign text={p.after} /> : <span className="text-ink3">{t("update.change.gone")}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </Section>
  );
}
