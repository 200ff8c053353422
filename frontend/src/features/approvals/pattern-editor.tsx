import type { Match, Permit } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Select } from "@/ui/select";

const hours = [1, 4, 8, 24, 168] as const;

/** PatternEditor changes what an argument must be, and until when: the daemon says what that means. */
export function PatternEditor({ permit, edit }: { permit: Permit; edit: (permit: Permit) => void }) {
  const t = useT();
  const match = permit.match ?? [];
  const change = (at: number, now: Match) => edit({ ...permit, match: match.map((m, i) => (i === at ? now : m)) });
  const patterns = match.flatMap((m, i) => (m.prefix !== undefined || m.command !== undefined ? [{ m, i }] : []));
  if (patterns.length === 0 && permit.scope !== "until") return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      {permit.scope === "until" && (
        <Select
          aria-label={t("scope.howLong")}
          defaultValue="1"
          onChange={(e) => edit({ ...permit, until: inHours(Number(e.target.value)) })}
        >
          {hours.map((n) => (
            <option key={n} value={n}>
              {n < 48 ? t("scope.hours", { n }) : t("scope.days", { n: n / 24 })}
            </option>
          ))}
        </Select>
      )}
      {patterns.map(({ m, i }) => {
        const kind = m.prefix !== undefined ? "prefix" : "command";
        const name = m.path.replace(/^\//, "");
        return (
          <label key={m.path} className="flex min-w-0 flex-1 items-center gap-1.5">
            <span className="shrink-0 text-ink2">{t(`scope.edit.${kind}`, { name })}</span>
            <input
              value={m[kind] ?? ""}
              spellCheck={false}
              autoComplete="off"
              onChange={(e) => change(i, { path: m.path, [kind]: e.target.value })}
              className="min-w-0 flex-1 rounded-md border border-line bg-raised px-2 py-0.5 font-mono text-sm text-ink"
            />
          </label>
        );
      })}
    </div>
  );
}

/** inHours is a time as the daemon reads it, to the minute. */
function inHours(n: number): string {
  const at = new Date(Date.now() + n * 3_600_000);
  at.setSeconds(0, 0);
  return at.toISOString();
}
