import type { Policy } from "@/api/types";
import { useT } from "@/lib/i18n";
import { CopyCommand } from "@/ui/copy-command";
import { EmptyState } from "@/ui/empty-state";
import { ProjectCard } from "./project-card";
import { RuleList } from "./rule-list";

/** RulesView is the rules in force, what decides where none matches, and projects' own policies. */
export function RulesView({ policy }: { policy: Policy }) {
  const t = useT();
  const loose = policy.warnings.filter((w) => !policy.rules.some((r) => r.origin === w.origin));
  return (
    <>
      {policy.projects.map((p) => (
        <ProjectCard key={p.dir} project={p} />
      ))}
      {policy.rules.length === 0 ? (
        <EmptyState title={t("policy.empty")} body={t("policy.empty.body")}>
          <CopyCommand command="garita policy init" />
        </EmptyState>
      ) : (
        <section className="rounded-xl border border-line bg-surface px-4 py-2">
          <h2 className="m-0 pt-1 text-sm font-[550] text-ink3">{t("policy.rules")}</h2>
          <RuleList label={t("policy.rules")} rules={policy.rules} warnings={policy.warnings} numbered />
        </section>
      )}
      {loose.map((w) => (
        <p key={`${w.origin} ${w.text}`} className="m-0 text-no">
          {w.origin}: {w.text}
        </p>
      ))}
      <section>
        <h2 className="m-0 mb-1.5 text-sm font-[550] text-ink3">{t("policy.default")}</h2>
        <ul className="m-0 flex list-disc flex-col gap-1 pl-5 text-ink2">
          {policy.default.map((d) => (
            <li key={d}>{d}</li>
          ))}
        </ul>
      </section>
    </>
  );
}
