import { useNavigate } from "@tanstack/react-router";
import { useId, useMemo, useState, type KeyboardEvent } from "react";
import { useApprovals } from "@/api/approvals";
import { useCalls } from "@/api/calls";
import { useServers } from "@/api/servers";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Dialog } from "@/ui/dialog";
import { Icon, type IconName } from "@/ui/icon";
import { pages } from "./page-links";

interface Hit {
  key: string;
  group: string;
  icon: IconName;
  text: string;
  beside?: string;
  go: () => void;
}

/** Palette finds pages, questions, servers and calls by any word in them. */
export function Palette({ close }: { close: () => void }) {
  const t = useT();
  const id = useId();
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const all = useHits();
  const hits = useMemo(() => find(all, words), [all, words]);
  const active = Math.min(at, hits.length - 1);
  const pick = (hit: Hit | undefined) => {
    if (!hit) return;
    close();
    hit.go();
  };
  const key = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step) setAt((active + step + hits.length) % Math.max(1, hits.length));
    else if (e.key === "Enter") pick(hits[active]);
    else return;
    e.preventDefault();
  };
  return (
    <Dialog labelledBy={`${id}-title`} close={close} className="mt-[12vh] w-[560px]">
      <h2 id={`${id}-title`} className="sr-only">
        {t("search.label")}
      </h2>
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Icon name="search" className="text-ink3" />
        <input
          autoFocus // eslint-disable-line jsx-a11y/no-autofocus -- it was opened to type into
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={hits[active] && `${id}-${active}`}
          aria-label={t("search.label")}
          placeholder={t("search.placeholder")}
          value={words}
          onChange={(e) => {
            setWords(e.target.value);
            setAt(0);
          }}
          onKeyDown={key}
          className="h-12 flex-1 bg-transparent text-md outline-none placeholder:text-ink3"
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label={t("search.label")} className="max-h-[46vh] overflow-y-auto p-1.5">
        {hits.length === 0 && <p className="m-0 px-3 py-6 text-center text-ink3">{t("search.none")}</p>}
        {hits.map((hit, i) => (
          // The keys are the input's: its active descendant.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={hit.key}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === active}
            onClick={() => pick(hit)}
            onPointerMove={() => setAt(i)}
            className="flex items-center gap-2.5 rounded-md px-2.5 py-1.5 aria-selected:bg-hover"
          >
            <Icon name={hit.icon} className="text-ink3" />
            <bdi className="min-w-0 flex-1 truncate">{hit.text}</bdi>
            <span className="shrink-0 text-sm text-ink3">{hit.beside ?? hit.group}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function useHits(): Hit[] {
  const t = useT();
  const navigate = useNavigate();
  const approvals = useApprovals();
  const servers = useServers();
  const calls = useCalls();
  return [
    ...(approvals.data ?? []).map((a) => ({
      key: a.id,
      group: t("search.questions"),
      icon: "approvals" as const,
      text: visible(a.title),
      beside: t("decision.waiting"),
      go: () => void navigate({ to: "/approvals", search: { review: a.id } }),
    })),
    ...pages.map((p) => ({
      key: p.to,
      group: t("search.pages"),
      icon: p.icon,
      text: t(p.name),
      go: () => void navigate({ to: p.to }),
    })),
    ...(servers.data ?? []).map((s) => ({
      key: `server ${s.name}`,
      group: t("search.servers"),
      icon: "servers" as const,
      text: visible(s.name),
      go: () => void navigate({ to: "/servers", search: { server: s.name } }),
    })),
    ...(calls.data?.calls ?? []).map((c) => ({
      key: c.id,
      group: t("search.calls"),
      icon: "calls" as const,
      text: visible(c.sentence),
      beside: visible(`${c.server} · ${c.tool}`),
      go: () => void navigate({ to: "/calls", search: { call: c.id } }),
    })),
  ];
}

const most = 40;

function find(hits: Hit[], words: string): Hit[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return hits.filter((h) => h.icon !== "calls" || h.key.startsWith("/")).slice(0, most);
  return hits
    .filter((h) => {
      const text = `${h.text} ${h.beside ?? ""} ${h.group}`.toLowerCase();
      return wanted.every((w) => text.includes(w));
    })
    .slice(0, most);
}
