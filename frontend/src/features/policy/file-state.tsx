import type { Policy } from "@/api/types";
import { moment } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { CopyCommand } from "@/ui/copy-command";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { Problems } from "./problems";

/** FileState says loudly when the policy file is not in force, and quietly where it is. */
export function FileState({ policy }: { policy: Policy }) {
  const t = useT();
  const locale = useLocale();
  const wrong = policy.state === "refused" || policy.state === "fallback";
  if (!wrong) {
    if (policy.state === "none") return null;
    return (
      <p className="m-0 text-ink2">
        <Foreign text={policy.file} className="font-mono text-sm text-ink" /> ·{" "}
        {t("policy.since", { time: moment(policy.since, locale) })}
      </p>
    );
  }
  return (
    <section role="alert" className="flex flex-col gap-2 rounded-xl border border-no bg-no-bg px-5 py-4">
      <h2 className="m-0 flex items-center gap-2 text-lg font-[620] tracking-[-0.01em]">
        <Icon name="warn" className="text-no" />
        {t(policy.state === "refused" ? "policy.refused" : "policy.fallback")}
      </h2>
      <p className="m-0 text-ink2">
        <Foreign text={policy.file} className="font-mono text-sm text-ink" />{" "}
        {policy.state === "refused"
          ? t("policy.refused.body", { time: moment(policy.since, locale) })
          : t("policy.fallback.body")}
      </p>
      <Problems problems={policy.problems} />
      <CopyCommand command="garita policy check" />
    </section>
  );
}
