import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useStatus } from "@/api/system";
import { useWorkspaces } from "@/api/workspaces";
import { cx } from "@/lib/cx";
import { useT, type Key } from "@/lib/i18n";
import { Icon, type IconName } from "@/ui/icon";

export const pages = [
  { to: "/", icon: "home", name: "nav.home" },
  { to: "/calls", icon: "calls", name: "nav.calls" },
  { to: "/approvals", icon: "approvals", name: "nav.approvals" },
  { to: "/servers", icon: "servers", name: "nav.servers" },
  { to: "/workspaces", icon: "workspaces", name: "nav.workspaces" },
  { to: "/secrets", icon: "secrets", name: "nav.secrets" },
  { to: "/network", icon: "network", name: "nav.network" },
  { to: "/policy", icon: "policy", name: "nav.policy" },
  { to: "/record", icon: "record", name: "nav.record" },
  { to: "/doctor", icon: "doctor", name: "nav.doctor" },
] as const satisfies { to: string; icon: IconName; name: Key }[];

interface Props {
  /** Whether only the icons stay where there is little room. */
  folds: boolean;
  went?: () => void;
}

/** PageLinks is the way to each page, with how much is there. */
export function PageLinks({ folds, went }: Props) {
  const t = useT();
  const status = useStatus();
  const workspaces = useWorkspaces();
  const waiting = status.data?.waiting ?? 0;
  const counts: Partial<Record<string, ReactNode>> = {
    "/approvals": waiting > 0 && (
      <span
        className={cx(
          "tabular rounded-full bg-lamp px-1.5 text-xs leading-[17px] font-[650] text-lamp-ink",
          folds && "max-[900px]:absolute max-[900px]:-top-1 max-[900px]:-right-1.5 max-[900px]:px-1 max-[900px]:leading-[15px]",
        )}
      >
        {waiting}
      </span>
    ),
    "/servers": <Quiet n={status.data?.servers} folds={folds} />,
    "/workspaces": <Quiet n={workspaces.data?.length} folds={folds} />,
  };
  return pages.map((page) => (
    <Link
      key={page.to}
      to={page.to}
      title={t(page.name)}
      onClick={went}
      activeOptions={{ exact: page.to === "/", includeSearch: false }}
      className="relative flex items-center gap-2.5 rounded-md px-2.5 py-[5.5px] text-ink2 no-underline hover:bg-hover hover:text-ink aria-[current=page]:bg-raised aria-[current=page]:font-[550] aria-[current=page]:text-ink aria-[current=page]:shadow-[0_0_0_1px_var(--line)]"
    >
      <Icon name={page.icon} className="opacity-80" />
      <span className={cx("flex-1", folds && "max-[900px]:sr-only")}>{t(page.name)}</span>
      {counts[page.to]}
    </Link>
  ));
}

function Quiet({ n, folds }: { n: number | undefined; folds: boolean }) {
  return n ? <span className={cx("tabular text-ink3", folds && "max-[900px]:hidden")}>{n}</span> : null;
}
