import { useT } from "@/lib/i18n";
import { CopyCommand } from "@/ui/copy-command";
import { Mark } from "@/ui/mark";

/** Door is all a browser without a session gets to see. */
export function Door({ claimFailed }: { claimFailed: boolean }) {
  const t = useT();
  return (
    <main className="grid min-h-full place-items-center p-6">
      <div className="flex w-full max-w-[440px] flex-col gap-4 rounded-xl border border-line bg-surface p-8 shadow-float">
        <Mark lit={false} size={34} />
        <h1 className="m-0 text-xl font-[640] tracking-[-0.015em]">{t("door.title")}</h1>
        {claimFailed && (
          <p role="alert" className="m-0 rounded-lg bg-no-bg px-3 py-2 text-no">
            {t("door.claimFailed")}
          </p>
        )}
        <p className="m-0 text-pretty text-ink2">{t("door.body")}</p>
        <CopyCommand command="garita ui" />
        <p className="m-0 text-sm text-ink3">{t("door.hint")}</p>
      </div>
    </main>
  );
}
