import type { AuditEvent } from "@/api/types";
import { cx } from "@/lib/cx";
import { clock, moment } from "@/lib/format";
import { useLocale } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { summary } from "./summary";

const cell = "truncate px-2.5 border-b border-line";

interface Props {
  event: AuditEvent;
  chosen: boolean;
  choose: (event: AuditEvent) => void;
}

/** EventRow is one entry of the record on one line. */
export function EventRow({ event: e, chosen, choose }: Props) {
  const locale = useLocale();
  return (
    <tr className={cx("relative h-[34px]", chosen ? "bg-raised shadow-[inset_3px_0_0_var(--focus)]" : "hover:bg-hover")}>
      <td className={`${cell} tabular pl-5 font-mono text-sm text-ink3`}>
        <button
          type="button"
          aria-pressed={chosen}
          onClick={() => choose(e)}
          className="after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:outline-offset-[-2px] focus-visible:after:outline-focus"
        >
          {e.seq}
        </button>
      </td>
      <td className={`${cell} font-mono text-sm text-ink2`} title={moment(e.at, locale)}>
        {clock(e.at)}
      </td>
      <td className={cell}>
        <Foreign text={e.kind} className="font-[550]" />
      </td>
      <td className={`${cell} text-ink2 max-[900px]:hidden`}>
        <Foreign text={e.principal} />
      </td>
      <td className={`${cell} max-[900px]:hidden`}>
        <Foreign text={e.server} />
      </td>
      <td className={`${cell} text-ink2`}>
        <Foreign text={summary(e.body)} />
      </td>
      <td className={`${cell} font-mono text-sm text-ink3 max-[1100px]:hidden`}>{e.hash.replace(/^\w+:/, "").slice(0, 10)}</td>
    </tr>
  );
}
