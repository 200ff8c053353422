import { Link } from "@tanstack/react-router";
import { kindOf, told } from "@/api/decision";
import type { Call } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Badge } from "@/ui/badge";
import { Foreign } from "@/ui/foreign";
import { Sentence } from "@/ui/sentence";

/** RefusedList is the last calls that were refused, withheld or went wrong. */
export function RefusedList({ calls }: { calls: Call[] }) {
  const t = useT();
  const refused = calls.filter((c) => kindOf(c) === "refused").slice(0, 6);
  if (refused.length === 0) return <p className="m-0 text-ink2">{t("home.recent.none")}</p>;
  return (
    <ul className="m-0 list-none p-0">
      {refused.map((c) => {
        const { tone, word } = told(c);
        return (
          <li key={c.id}>
            <Link
              to="/calls"
              search={{ call: c.id }}
              className="-mx-2 flex h-[34px] items-center gap-2.5 rounded-md px-2 text-ink no-underline hover:bg-hover"
            >
              <span className="min-w-0 flex-1 truncate">
                <Foreign text={c.server} className="text-ink3" /> <Sentence text={c.sentence} />
              </span>
              <Badge tone={tone}>{t(word)}</Badge>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
