import { createColumnHelper } from "@tanstack/react-table";
import { told } from "@/api/decision";
import type { Call } from "@/api/types";
import { clock, took } from "@/lib/format";
import { useT, type Key } from "@/lib/i18n";
import { useNow } from "@/lib/use-now";
import { Badge } from "@/ui/badge";
import { Foreign } from "@/ui/foreign";
import { Sentence } from "@/ui/sentence";

const column = createColumnHelper<Call>();

export interface ColumnMeta {
  name: Key;
  /** Classes of the cells, header too. */
  cell: string;
}

const meta = (name: Key, cell: string): ColumnMeta => ({ name, cell });

/** columns are the table of calls, left to right. */
export const columns = [
  column.accessor("at", {
    cell: (c) => <span className="font-mono text-sm text-ink2">{clock(c.getValue())}</span>,
    meta: meta("calls.time", "w-[86px]"),
  }),
  column.accessor("agent", {
    cell: (c) => <Foreign text={c.getValue()} />,
    meta: meta("calls.agent", "w-[126px] @max-[820px]:hidden"),
  }),
  column.accessor("tool", {
    cell: (c) => (
      <>
        <Foreign text={c.row.original.server} className="text-ink3" />
        <span className="text-ink3"> · </span>
        <Foreign text={c.getValue()} />
      </>
    ),
    meta: meta("calls.tool", "w-[216px] @max-[980px]:w-[170px] @max-[600px]:hidden"),
  }),
  column.accessor("sentence", {
    cell: (c) => <Sentence text={c.getValue()} />,
    meta: meta("calls.what", "flex-1 min-w-[120px]"),
  }),
  column.display({ id: "decision", cell: (c) => <Decision call={c.row.original} />, meta: meta("calls.decision", "w-[142px]") }),
  column.display({
    id: "took",
    cell: (c) => <Took call={c.row.original} />,
    meta: meta("calls.took", "w-[76px] text-right @max-[700px]:hidden"),
  }),
];

function Decision({ call }: { call: Call }) {
  const t = useT();
  const { tone, word } = told(call);
  return <Badge tone={tone}>{t(word)}</Badge>;
}

function Took({ call }: { call: Call }) {
  const open = call.outcome === "waiting" || call.outcome === "running";
  const now = useNow(1000, open);
  const ms = open ? Math.max(0, now - Date.parse(call.at)) : call.duration_ms || call.waited_ms;
  if (!open && ms === 0) return <span className="text-ink3">—</span>;
  return (
    <span className="tabular font-mono text-sm text-ink3">{open ? took(Math.floor(ms / 1000) * 1000 || 1000) : took(ms)}</span>
  );
}
