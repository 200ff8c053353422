import { cx } from "@/lib/cx";

const looks: Record<string, string> = {
  ready: "bg-ok",
  starting: "border-[1.5px] border-info bg-info-bg",
  stopping: "border-[1.5px] border-ink3",
  frozen: "border-[1.5px] border-info",
  failed: "bg-no",
  stopped: "border-[1.5px] border-line2",
};

/** StateDot shows a server's state; the word stands beside it. */
export function StateDot({ state }: { state: string }) {
  return <span aria-hidden className={cx("size-2 shrink-0 rounded-full", looks[state] ?? "bg-ink3")} />;
}
