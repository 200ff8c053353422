import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import type { Reach } from "./rows";

const most = 12;

/** Glance is a server's reach as a few marks: a ring for each host that is allowed, filled where something is open, a
 * lamp for each that waits, a cross for each that was refused. In words it is the list below. */
export function Glance({ reach, live }: { reach: Reach; live: number }) {
  const t = useT();
  const open = reach.reaches.filter((r) => "open" in r && r.open > 0).length;
  const marks = [
    ...Array<Mark>(open).fill("open"),
    ...Array<Mark>(reach.reaches.length - open).fill("allowed"),
    ...Array<Mark>(reach.waits.length).fill("waits"),
    ...Array<Mark>(reach.blocked.length).fill("blocked"),
    ...Array<Mark>(reach.kept.length).fill("kept"),
  ];
  const words = [
    t("network.glance.allowed", { n: reach.reaches.length }),
    live > 0 && t("network.open", { n: live }),
    reach.waits.length > 0 && t("network.glance.waits", { n: reach.waits.length }),
    t("network.glance.blocked", { n: reach.blocked.length + reach.kept.length }),
  ]
    .filter(Boolean)
    .join(", ");
  return (
    <span role="img" aria-label={words} title={words} className="flex shrink-0 items-center gap-[5px] max-[720px]:hidden">
      {marks.slice(0, most).map((mark, i) => (
        <svg key={i} width={10} height={10} viewBox="0 0 10 10" fill="none" className={colours[mark]}>
          {mark === "blocked" || mark === "kept" ? (
            <path d="M2 2l6 6M8 2l-6 6" stroke="currentColor" strokeWidth={1.6} strokeLinecap="round" />
          ) : (
            <circle
              cx={5}
              cy={5}
              r={3.5}
              stroke="currentColor"
              strokeWidth={1.5}
              className={cx((mark === "open" || mark === "waits") && "fill-current")}
            />
          )}
        </svg>
      ))}
      {marks.length > most && <span className="tabular text-sm text-ink3">+{marks.length - most}</span>}
    </span>
  );
}

type Mark = "open" | "allowed" | "waits" | "blocked" | "kept";

const colours: Record<Mark, string> = {
  open: "text-ok",
  allowed: "text-ok",
  waits: "text-lamp",
  blocked: "text-no",
  kept: "text-ink3",
};
