import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useLink } from "@/api/events";
import { useStatus } from "@/api/system";
import { useWorkspaces } from "@/api/workspaces";
import { useT, type Key } from "@/lib/i18n";
import { tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Icon, type IconName } from "@/ui/icon";
import { Mark } from "@/ui/mark";
import { Appearance } from "./appearance";

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

const narrow = "max-[900px]:sr-only";

/** Rail is the way between pages, and one honest line on the state of the system. */
export function Rail({ search }: { search: () => void }) {
  const t = useT();
  const status = useStatus();
  const workspaces = useWorkspaces();
  const waiting = status.data?.waiting ?? 0;
  const counts: Partial<Record<string, ReactNode>> = {
    "/approvals": waiting > 0 && (
      <span className="tabular rounded-full bg-lamp px-1.5 text-xs leading-[17px] font-[650] text-lamp-ink max-[900px]:absolute max-[900px]:-top-1 max-[900px]:-right-1.5 max-[900px]:px-1 max-[900px]:leading-[15px]">
        {waiting}
      </span>
    ),
    "/servers": <Quiet n={status.data?.servers} />,
    "/workspaces": <Quiet n={workspaces.data?.length} />,
  };
  return (
    <nav aria-label={t("nav.label")} className="flex min-h-0 flex-col gap-0.5 overflow-y-auto border-r border-line px-2.5 py-3.5">
      <div className="flex items-center gap-2.5 px-2 pb-3.5 text-lg font-[650] tracking-[-0.01em] max-[900px]:px-1.5">
        <Mark lit={waiting > 0} />
        <span className={narrow}>Garita</span>
      </div>
      {pages.map((page) => (
        <Link
          key={page.to}
          to={page.to}
          title={t(page.name)}
          activeOptions={{ exact: page.to === "/", includeSearch: false }}
          className="relative flex items-center gap-2.5 rounded-md px-2.5 py-[5.5px] text-ink2 no-underline hover:bg-hover hover:text-ink aria-[current=page]:bg-raised aria-[current=page]:font-[550] aria-[current=page]:text-ink aria-[current=page]:shadow-[0_0_0_1px_var(--line)]"
        >
          <Icon name={page.icon} className="opacity-80" />
          <span className={`flex-1 ${narrow}`}>{t(page.name)}</span>
          {counts[page.to]}
        </Link>
      ))}
      <button
        type="button"
        onClick={search}
        title={t("search.open")}
        className="mt-2 flex items-center gap-2.5 rounded-md px-2.5 py-[5.5px] text-left text-ink2 hover:bg-hover hover:text-ink"
      >
        <Icon name="search" className="opacity-80" />
        <span className={`flex-1 ${narrow}`}>{t("search.open")}</span>
        <kbd className="rounded-[4px] border border-line2 px-1 text-xs text-ink3 max-[900px]:hidden">Ctrl K</kbd>
      </button>
      <div className="mt-auto flex flex-col gap-2 pt-4">
        <Appearance />
        <Foot />
      </div>
    </nav>
  );
}

function Quiet({ n }: { n: number | undefined }) {
  return n ? <span className="tabular text-ink3 max-[900px]:hidden">{n}</span> : null;
}

function Foot() {
  const t = useT();
  const status = useStatus();
  const link = useLink();
  const down = link === "down";
  const data = status.data;
  const bad = down || status.isError || data?.ok === false;
  const sentence = down
    ? t("foot.unreachable")
    : status.isError
      ? tell(status.error).title
      : (data?.sentence ?? t("foot.asking"));
  return (
    <p role="status" className={`m-0 px-2 text-sm text-ink3 ${narrow}`}>
      <span className={`flex items-start gap-1.5 ${bad ? "text-no" : ""}`}>
        {bad && <Icon name="warn" size={13} className="mt-0.5" />}
        <Foreign text={sentence} />
      </span>
      {!bad && data && (
        <span className="tabular">
          {t("foot.servers", { n: data.servers })} · {t("foot.running", { n: data.running })}
        </span>
      )}
    </p>
  );
}
