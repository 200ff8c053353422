import type { ReactNode } from "react";

export function Chip({ children, title }: { children: ReactNode; title?: string | undefined }) {
  return (
    <span
      title={title}
      className="tabular inline-flex items-center gap-1.5 rounded-full border border-line px-2 py-px text-sm whitespace-nowrap text-ink2"
    >
      {children}
    </span>
  );
}
