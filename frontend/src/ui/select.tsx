import type { ComponentProps } from "react";
import { cx } from "@/lib/cx";
import { Icon } from "./icon";

/** Select is the browser's own, in our clothes: it looks the same in the window. */
export function Select({ className, children, ...rest }: ComponentProps<"select">) {
  return (
    <span className={cx("relative inline-flex items-center", className)}>
      <select
        className="w-full appearance-none rounded-md border border-line bg-surface py-[5px] pr-7 pl-2.5 text-ink2 hover:border-line2 hover:text-ink"
        {...rest}
      >
        {children}
      </select>
      <Icon name="chevron" size={12} className="pointer-events-none absolute right-2 rotate-90 text-ink3" />
    </span>
  );
}
