import { use } from "react";
import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import { Icon } from "@/ui/icon";
import { Leaving } from "./preferences";

/** SignOut ends this browser's session; the next look needs a new link. */
export function SignOut({ folds }: { folds: boolean }) {
  const t = useT();
  const leave = use(Leaving);
  if (!leave) return null;
  return (
    <button
      type="button"
      onClick={leave}
      title={t("session.leave.long")}
      className="flex items-center gap-2.5 rounded-md px-2.5 py-[5.5px] text-left text-ink2 hover:bg-hover hover:text-ink"
    >
      <Icon name="leave" className="opacity-80" />
      <span className={cx("flex-1", folds && "max-[900px]:sr-only")}>{t("session.leave")}</span>
    </button>
  );
}
