import { Link } from "@tanstack/react-router";
import { useCalls } from "@/api/calls";
import { told } from "@/api/decision";
import { clock, took } from "@/lib/format";
import { useT } from "@/lib/i18n";
import { Badge } from "@/ui/badge";
import { Foreign } from "@/ui/foreign";
import { Sentence } from "@/ui/sentence";

const most = 12;

/** AnsweredList is what became of the last questions. */
export function AnsweredList() {
  const t = useT();
  const calls = useCalls();
  const answered = (calls.data?.calls ?? []).filter((c) => c.answer && c.answer !== "pending").slice(0, most);
  return (
    <section>
      <h2 className="m-0 mb-2 text-sm font-[550] text-ink3">{t("approvals.recent")}</h2>
      {calls.data && answered.length === 0 && <p className="m-0 text-ink3">{t("approvals.recent.none")}</p>}
      <ul className="m-0 list-none p-0">
        {answered.map((c) => {
          const { tone, word } = told(c);
          return (
            <li key={c.id}>
              <Link
                to="/calls"
                search={{ call: c.id }}
                className="flex h-[38px] items-center gap-3 border-b border-line px-1 text-ink no-underline hover:bg-hover"
              >
                <span className="w-16 shrink-0 font-mono text-sm text-ink3">{clock(c.at)}</span>
                <span className="min-w-0 flex-1 truncate">
                  <Foreign text={c.agent} className="text-ink2" /> · <Sentence text={c.sentence} />
                </span>
                <span className="shrink-0 font-mono text-sm text-ink3">{took(c.waited_ms)}</span>
                <span className="flex w-[116px] shrink-0">
                  <Badge tone={tone}>{t(word)}</Badge>
                </span>
              </Link>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
