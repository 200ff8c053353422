import { Link } from "@tanstack/react-router";
import { cx } from "@/lib/cx";

interface Tab {
  name: string;
  on: boolean;
  /** What of the address it changes. */
  search: Record<string, string | undefined>;
}

/** Tabs are the parts of a page; which one is open stands in the address. */
export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  return (
    <nav aria-label={label} className="flex shrink-0 gap-4 border-b border-line px-6">
      {tabs.map((tab) => (
        <Link
          key={tab.name}
          to="."
          search={tab.search as never}
          aria-current={tab.on ? "page" : undefined}
          activeProps={{}}
          className={cx(
            "-mb-px border-b-2 py-2 no-underline hover:text-ink",
            tab.on ? "border-ink font-[550] text-ink" : "border-transparent text-ink2",
          )}
        >
          {tab.name}
        </Link>
      ))}
    </nav>
  );
}
