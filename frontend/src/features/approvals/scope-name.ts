import { useLocale, useT, type Key } from "@/lib/i18n";

/** useScopeName is how a scope is called, with its end where it has one. */
export function useScopeName(): (scope: string, until?: string) => string {
  const t = useT();
  const locale = useLocale();
  return (scope, until) =>
    scope === "until" && until
      ? t("scope.untilTime", { time: new Date(until).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" }) })
      : t(`scope.${scope}` as Key);
}
