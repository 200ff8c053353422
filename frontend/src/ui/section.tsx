import type { ReactNode } from "react";

/** Section is one part of a panel or dialog under a quiet label. */
export function Section({ label, beside, children }: { label?: ReactNode; beside?: ReactNode; children: ReactNode }) {
  return (
    <section className="border-b border-line px-5 py-3 last:border-b-0">
      {(label || beside) && (
        <div className="mb-1.5 flex items-baseline justify-between gap-3 text-sm text-ink3">
          <h3 className="m-0 font-normal">{label}</h3>
          {beside}
        </div>
      )}
      {children}
    </section>
  );
}
