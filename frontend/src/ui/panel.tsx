import type { ReactNode } from "react";
import { useT } from "@/lib/i18n";
import { Icon } from "./icon";
import { Scroll } from "./scroll";

/** Panel shows the details of what is chosen in a list, beside it. Escape closes it. */
export function Panel({
  title,
  children,
  close,
  label,
}: {
  title: ReactNode;
  label: string;
  children: ReactNode;
  close: () => void;
}) {
  const t = useT();
  return (
    // Escape anywhere inside closes; it is no control of its own.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <aside
      aria-label={label}
      onKeyDown={(e) => e.key === "Escape" && close()}
      className="absolute inset-y-0 right-0 z-20 flex w-full max-w-[480px] animate-[slide_var(--quick)_ease-out] flex-col border-l border-line bg-surface max-[1200px]:shadow-float min-[1200px]:static min-[1200px]:w-[480px]"
    >
      <div className="flex min-h-[46px] items-center gap-2 border-b border-line py-1.5 pr-2 pl-5">
        <div className="min-w-0 flex-1">{title}</div>
        <button
          type="button"
          aria-label={t("common.close")}
          onClick={close}
          className="rounded-md p-1.5 text-ink3 hover:bg-hover hover:text-ink"
        >
          <Icon name="close" />
        </button>
      </div>
      <Scroll label={label} className="min-h-0 flex-1">
        {children}
      </Scroll>
    </aside>
  );
}
