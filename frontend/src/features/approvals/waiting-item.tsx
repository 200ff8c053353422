import { Link } from "@tanstack/react-router";
import type { Approval } from "@/api/types";
import { took } from "@/lib/format";
import { useT } from "@/lib/i18n";
import { useNow } from "@/lib/use-now";
import { Badge } from "@/ui/badge";
import { Foreign } from "@/ui/foreign";
import { Said } from "@/ui/said";

/** WaitingItem is one question in the list; the whole of it opens the review. */
export function WaitingItem({ approval }: { approval: Approval }) {
  const t = useT();
  const now = useNow(1000);
  const waits = Math.max(0, now - Date.parse(approval.asked));
  const ends = Math.max(0, Date.parse(approval.expires) - now);
  return (
    <li className="relative flex items-center gap-4 rounded-xl border border-wait-line bg-wait-bg px-4 py-3.5 has-[a:focus-visible]:outline-2 has-[a:focus-visible]:outline-focus">
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <h2 className="m-0 text-md font-[600] tracking-[-0.005em]">
          <Said text={approval.title} />
        </h2>
        <p className="m-0 text-ink2">
          <Foreign text={approval.object} className="font-mono text-sm text-ink" />
          <span className="max-[620px]:hidden">
            {" "}
            · <Said text={approval.stays} />
          </span>
        </p>
        <p className="tabular m-0 flex flex-wrap items-center gap-x-3 gap-y-1 pt-0.5 text-sm text-ink2">
          <Badge tone="wait">{t("approvals.waits", { time: took(waits) })}</Badge>
          <bdi>{t("approval.through", { server: approval.call.server, tool: approval.call.tool })}</bdi>
          <span className="max-[620px]:hidden">{t("approvals.expires", { time: took(ends) })}</span>
        </p>
      </div>
      <Link
        to="."
        search={(s) => ({ ...s, review: approval.id })}
        aria-label={`${t("approvals.review")}: ${approval.title}`}
        className="rounded-lg border border-line2 bg-raised px-4 py-[7px] font-[580] text-ink no-underline outline-none after:absolute after:inset-0 hover:border-ink3"
      >
        {t("approvals.review")}
      </Link>
    </li>
  );
}
