import type { Kind } from "@/api/decision";
import { useT } from "@/lib/i18n";
import { Icon } from "@/ui/icon";
import { Select } from "@/ui/select";

const kinds: Kind[] = ["waiting", "read", "you", "refused"];

interface Props {
  q: string | undefined;
  show: string | undefined;
  change: (next: { q?: string | undefined; show?: string | undefined }) => void;
}

/** FilterBar narrows the calls by words and by decision. */
export function FilterBar({ q, show, change }: Props) {
  const t = useT();
  return (
    <>
      <Select
        aria-label={t("calls.show")}
        value={show ?? ""}
        onChange={(e) => change({ show: e.target.value || undefined })}
        className="max-[680px]:hidden"
      >
        <option value="">{t("calls.all")}</option>
        {kinds.map((k) => (
          <option key={k} value={k}>
            {t(`kind.${k}`)}
          </option>
        ))}
      </Select>
      <label className="relative flex min-w-0 items-center">
        <Icon name="search" size={14} className="pointer-events-none absolute left-2.5 text-ink3" />
        <input
          type="search"
          aria-label={t("calls.filter")}
          placeholder={t("calls.filter")}
          value={q ?? ""}
          onChange={(e) => change({ q: e.target.value || undefined })}
          className="w-[264px] min-w-0 rounded-md border border-line bg-surface py-[5px] pr-2 pl-8 placeholder:text-ink3 hover:border-line2"
        />
      </label>
    </>
  );
}
