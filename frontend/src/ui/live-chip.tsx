import { useT } from "@/lib/i18n";
import { cx } from "@/lib/cx";
import { Chip } from "./chip";

/** LiveChip says whether the page follows what happens. */
export function LiveChip({ link }: { link: "connecting" | "up" | "down" }) {
  const t = useT();
  return (
    <Chip title={link === "down" ? t("link.down.long") : undefined}>
      <span
        aria-hidden
        className={cx("size-1.5 rounded-full", link === "up" ? "bg-ok" : link === "down" ? "bg-no" : "bg-ink3")}
      />
      <span role="status" className="max-[480px]:sr-only">
        {t(`link.${link}`)}
      </span>
    </Chip>
  );
}
