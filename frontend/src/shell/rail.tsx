import { useStatus } from "@/api/system";
import { useT } from "@/lib/i18n";
import { Icon } from "@/ui/icon";
import { Mark } from "@/ui/mark";
import { Appearance } from "./appearance";
import { Foot } from "./foot";
import { PageLinks } from "./page-links";
import { SignOut } from "./sign-out";

const narrow = "max-[900px]:sr-only";

/** Rail is the way between pages; where there is little room it folds to icons. */
export function Rail({ search }: { search: () => void }) {
  const t = useT();
  const waiting = useStatus().data?.waiting ?? 0;
  return (
    <nav aria-label={t("nav.label")} className="flex min-h-0 flex-col gap-0.5 overflow-y-auto border-r border-line px-2.5 py-3.5">
      <div className="flex items-center gap-2.5 px-2 pb-3.5 text-lg font-[650] tracking-[-0.01em] max-[900px]:px-1.5">
        <Mark lit={waiting > 0} />
        <span className={narrow}>Garita</span>
      </div>
      <PageLinks folds />
      <button
        type="button"
        onClick={search}
        title={t("search.open")}
        className="mt-2 flex items-center gap-2.5 rounded-md px-2.5 py-[5.5px] text-left text-ink2 hover:bg-hover hover:text-ink"
      >
        <Icon name="search" className="opacity-80" />
        <span className={`flex-1 ${narrow}`}>{t("search.open")}</span>
        <kbd className="rounded-[4px] border border-line2 px-1 text-xs text-ink3 max-[900px]:hidden">Ctrl K</kbd>
      </button>
      <div className="mt-auto flex flex-col gap-2 pt-4">
        <SignOut folds />
        <div className="px-1 max-[900px]:hidden">
          <Appearance />
        </div>
        <div className={narrow}>
          <Foot />
        </div>
      </div>
    </nav>
  );
}
