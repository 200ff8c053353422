import type { ReactNode } from "react";
import { cx } from "@/lib/cx";
import { Icon, type IconName } from "./icon";

export type BadgeTone = "wait" | "ok" | "no" | "info" | "plain";

const tones: Record<BadgeTone, string> = {
  wait: "bg-wait-bg text-wait ring-1 ring-inset ring-wait-line",
  ok: "bg-ok-bg text-ok",
  no: "bg-no-bg text-no",
  info: "bg-info-bg text-info",
  plain: "bg-hover text-ink2",
};

const icons: Record<BadgeTone, IconName> = { wait: "dot", ok: "check", no: "block", info: "person", plain: "clock" };

/** Badge is a word on a colour; the icon says the same for those who do not see the colour. */
export function Badge({ tone, icon, children }: { tone: BadgeTone; icon?: IconName; children: ReactNode }) {
  return (
    <span
      className={cx(
        "inline-flex items-center gap-1 rounded-[6px] py-px pr-2 pl-1.5 text-sm font-[550] whitespace-nowrap",
        tones[tone],
      )}
    >
      <Icon name={icon ?? icons[tone]} size={12} />
      {children}
    </span>
  );
}
