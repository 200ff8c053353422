import type { Policy } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";

/** Problems is what is wrong with a policy file: where, what, why, and what to write instead. */
export function Problems({ problems }: { problems: Policy["problems"] }) {
  const t = useT();
  return (
    <ul aria-label={t("policy.problems")} className="m-0 flex list-none flex-col gap-1.5 p-0">
      {problems.map((p, i) => (
        <li key={i}>
          <code className="text-ink2">
            <Foreign text={p.line > 0 ? `${p.file}:${p.line}` : p.file} />
          </code>{" "}
          <Foreign text={p.what} className="font-[550] text-no" />
          {p.why && (
            <>
              {" — "}
              <Foreign text={p.why} />
            </>
          )}
          {p.next && (
            <span className="block text-ink2">
              {t("error.next")}: <Foreign text={p.next} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
