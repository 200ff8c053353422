import type { ReactNode } from "react";
import { cx } from "@/lib/cx";

/** Scroll is a part that scrolls by itself. It takes the focus, so that the arrow keys reach it. */
export function Scroll({ label, className, children }: { label: string; className?: string; children: ReactNode }) {
  return (
    <div
      role="group"
      aria-label={label}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else the keyboard cannot scroll it
      tabIndex={0}
      className={cx("overflow-y-auto focus-visible:outline-offset-[-2px]", className)}
    >
      {children}
    </div>
  );
}
