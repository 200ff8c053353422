import { useState } from "react";
import { useStatus } from "@/api/system";
import { useT } from "@/lib/i18n";
import { Dialog } from "@/ui/dialog";
import { Icon } from "@/ui/icon";
import { Appearance } from "./appearance";
import { Foot } from "./foot";
import { PageLinks } from "./page-links";
import { SignOut } from "./sign-out";

/** PagesMenu is the rail of a very narrow window: a button that opens it over the page. */
export function PagesMenu() {
  const t = useT();
  const [open, setOpen] = useState(false);
  const waiting = useStatus().data?.waiting ?? 0;
  const close = () => setOpen(false);
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-label={t("nav.label")}
        onClick={() => setOpen(true)}
        className="relative -ml-2 rounded-md p-2 text-ink2 hover:bg-hover hover:text-ink"
      >
        <Icon name="menu" />
        {waiting > 0 && <span aria-hidden className="absolute top-1 right-1 size-2 rounded-full bg-lamp" />}
      </button>
      {open && (
        <Dialog labelledBy="pages-title" close={close} className="mt-3 ml-3 w-[260px]">
          <div className="flex items-center justify-between py-2 pr-2 pl-4">
            <h2 id="pages-title" className="m-0 text-lg font-[650] tracking-[-0.01em]">
              Garita
            </h2>
            <button
              type="button"
              aria-label={t("common.close")}
              onClick={close}
              className="rounded-md p-1.5 text-ink3 hover:bg-hover hover:text-ink"
            >
              <Icon name="close" />
            </button>
          </div>
          <nav aria-label={t("nav.label")} className="flex min-h-0 flex-col gap-0.5 overflow-y-auto px-2.5 pb-3">
            <PageLinks folds={false} went={close} />
            <div className="mt-3 flex flex-col gap-2">
              <SignOut folds={false} />
              <Appearance />
              <Foot />
            </div>
          </nav>
        </Dialog>
      )}
    </>
  );
}
