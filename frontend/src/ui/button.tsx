import type { ComponentProps } from "react";
import { cx } from "@/lib/cx";

type Look = "plain" | "primary" | "quiet" | "danger";

const looks: Record<Look, string> = {
  plain: "border-line2 bg-raised text-ink enabled:hover:border-ink3",
  primary: "border-ink bg-ink text-bg enabled:hover:opacity-88",
  quiet: "border-transparent bg-transparent text-ink2 enabled:hover:bg-hover enabled:hover:text-ink",
  danger: "border-line2 bg-raised text-no enabled:hover:border-no",
};

interface Props extends ComponentProps<"button"> {
  look?: Look;
  small?: boolean;
}

export function Button({ look = "plain", small, className, type = "button", ...rest }: Props) {
  return (
    <button
      type={type}
      className={cx(
        "inline-flex items-center justify-center gap-1.5 rounded-lg border font-[580] whitespace-nowrap transition-[border-color,background-color,opacity] duration-(--quick)",
        small ? "px-2.5 py-1 text-sm" : "px-4 py-[7px]",
        looks[look],
        "disabled:opacity-50",
        className,
      )}
      {...rest}
    />
  );
}
