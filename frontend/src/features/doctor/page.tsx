import { useDoctor } from "@/api/system";
import type { Check } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT, type Key } from "@/lib/i18n";
import { Badge, type BadgeTone } from "@/ui/badge";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { CopyCommand } from "@/ui/copy-command";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Page } from "@/ui/page";
import { Scroll } from "@/ui/scroll";
import type { IconName } from "@/ui/icon";

/** DoctorPage is what this machine can and cannot do for us, and what mends it. */
export function DoctorPage() {
  const t = useT();
  const checks = useDoctor();
  return (
    <Page
      title={t("nav.doctor")}
      actions={
        <Button small disabled={checks.isFetching} onClick={() => void checks.refetch()}>
          {t("doctor.again")}
        </Button>
      }
    >
      <Scroll label={t("nav.doctor")} className="h-full">
        {checks.isPending && <Bones rows={8} />}
        {checks.isError && (
          <div className="p-6">
            <Failure told={tell(checks.error)} retry={() => void checks.refetch()} />
          </div>
        )}
        {checks.data?.length === 0 && <EmptyState title={t("doctor.empty")} body={t("doctor.empty.body")} />}
        {checks.data && checks.data.length > 0 && <Checks checks={checks.data} />}
      </Scroll>
    </Page>
  );
}

const order = ["fail", "warn", "ok"];

function Checks({ checks }: { checks: Check[] }) {
  const t = useT();
  const fails = checks.filter((c) => c.state === "fail").length;
  const warns = checks.filter((c) => c.state === "warn").length;
  const sorted = checks.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const verdict = [fails > 0 && t("doctor.fail", { n: fails }), warns > 0 && t("doctor.warn", { n: warns })]
    .filter(Boolean)
    .join(". ");
  return (
    <div className="mx-auto flex max-w-[820px] flex-col px-6 py-6">
      <h2 className="m-0 mb-4 text-lg font-[620] tracking-[-0.01em]">{verdict ? `${verdict}.` : t("doctor.ok")}</h2>
      <ul className="m-0 list-none overflow-hidden rounded-xl border border-line bg-surface p-0">
        {sorted.map((c) => (
          <CheckItem key={c.name} check={c} />
        ))}
      </ul>
    </div>
  );
}

const looks: Record<string, { tone: BadgeTone; icon: IconName }> = {
  ok: { tone: "ok", icon: "check" },
  warn: { tone: "plain", icon: "warn" },
  fail: { tone: "no", icon: "cross" },
};

function CheckItem({ check }: { check: Check }) {
  const t = useT();
  const { tone, icon } = looks[check.state] ?? looks["warn"]!;
  return (
    <li className="flex gap-4 border-b border-line px-5 py-3 last:border-b-0 max-[620px]:flex-col max-[620px]:gap-1">
      <span className="w-[92px] shrink-0 pt-px">
        <Badge tone={tone} icon={icon}>
          {t(`doctor.state.${check.state}` as Key)}
        </Badge>
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <h3 className="m-0 font-[580]">{check.name}</h3>
        <p className={cx("m-0", check.state === "ok" ? "text-ink2" : "text-ink")}>
          <Foreign text={check.found} />
        </p>
        {check.consequence && <p className="m-0 text-ink2">{check.consequence}</p>}
        {check.mend && (
          <div className="mt-1.5 flex flex-col gap-1">
            <span className="text-sm text-ink3">{t("doctor.mend")}</span>
            <CopyCommand command={check.mend} />
          </div>
        )}
      </div>
    </li>
  );
}
