import { useEffect, useLayoutEffect, useRef } from "react";
import type { Approval } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT, type Key } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import type { Told } from "@/ui/failure";

interface Props {
  /** The question, or what stands for several: whose state and answer are shown. */
  approval: Pick<Approval, "id" | "state" | "by">;
  armed: boolean;
  /** Whether a part has not been seen: what is approved must have been. */
  unseen: boolean;
  /** How far a yes reaches is not known yet, or cannot be. */
  blocked: boolean;
  approveWord?: string;
  denyWord?: string;
  /** Whether what is shown is not what it was when the dialog opened. */
  changed: boolean;
  sending: boolean;
  problem: Told | undefined;
  send: (approve: boolean) => void;
}

const button =
  "relative min-w-[104px] overflow-hidden rounded-lg border px-4 py-[7px] font-[580] transition-opacity duration-(--quick) aria-disabled:opacity-50 disabled:opacity-50";

/** Actions are the last line of the question. Focus rests on Deny; Approve can be reached only
 * once it has armed. The buttons stay where they are whatever happens to the request. */
export function Actions({ approval, armed, unseen, blocked, approveWord, denyWord, changed, sending, problem, send }: Props) {
  const t = useT();
  const ready = armed && !unseen && !blocked;
  const deny = useRef<HTMLButtonElement>(null);
  const approve = useRef<HTMLButtonElement>(null);
  const pending = approval.state === "pending";

  useEffect(() => {
    deny.current?.focus();
  }, [approval.id]);

  useLayoutEffect(() => {
    const lost = document.activeElement === approve.current || document.activeElement === document.body;
    if (!ready && lost) deny.current?.focus();
  }, [ready]);

  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.key.toLowerCase() !== "d" || e.ctrlKey || e.metaKey || e.altKey || e.repeat || writing(e.target)) return;
      e.preventDefault();
      send(false);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });

  // A key held down since before must not answer.
  const noRepeat = (e: { repeat?: boolean; preventDefault: () => void; nativeEvent: globalThis.Event }) => {
    if ((e.nativeEvent as KeyboardEvent).repeat) e.preventDefault();
  };

  return (
    <div className="shrink-0 border-t border-line px-[22px] py-3">
      <div className="flex items-center gap-2">
        <div role="status" className="flex min-h-[20px] min-w-0 flex-1 flex-wrap items-center gap-x-3 text-sm text-ink3">
          <Standing {...{ approval, armed, unseen, changed, sending, problem }} />
        </div>
        <button
          ref={deny}
          type="button"
          aria-disabled={!armed}
          onClick={() => send(false)}
          onKeyDown={noRepeat}
          className={cx(button, "border-line2 bg-raised text-ink")}
        >
          {denyWord ?? t("approval.deny")}
        </button>
        <button
          ref={approve}
          type="button"
          disabled={!ready}
          onClick={() => send(true)}
          onKeyDown={noRepeat}
          className={cx(button, "border-ink bg-ink text-bg")}
        >
          {approveWord ?? t("approval.approve")}
          {pending && !armed && !sending && (
            <span aria-hidden className="absolute inset-x-0 bottom-0 h-[3px] origin-left animate-[arm_700ms_linear] bg-lamp" />
          )}
        </button>
      </div>
    </div>
  );
}

/** writing says whether a key is meant for a field. */
function writing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input:not([type=radio]):not([type=checkbox]), textarea, select");
}

const ended: Record<string, Key> = {
  approved: "approval.approved",
  denied: "approval.denied",
  expired: "approval.expired",
  withdrawn: "approval.withdrawn",
  covered: "approval.covered",
  overruled: "approval.overruled",
};

function Standing({ approval, armed, unseen, changed, sending, problem }: Omit<Props, "send" | "blocked">) {
  const t = useT();
  if (sending) return <span>{t("approval.sending")}</span>;
  const end = ended[approval.state];
  if (end) {
    return (
      <span className={cx("flex items-center gap-1.5 font-[550]", approval.state === "approved" ? "text-ok" : "text-ink")}>
        <Icon name={approval.state === "approved" ? "check" : "block"} size={14} />
        <span>
          {t(end)} {approval.by && <bdi className="font-normal text-ink3">{t("approval.answeredBy", { who: approval.by })}</bdi>}
        </span>
      </span>
    );
  }
  if (problem) {
    return (
      <span role="alert" className="text-no">
        {t("approval.failed")}: <Foreign text={[problem.title, problem.detail].filter(Boolean).join(": ")} />
      </span>
    );
  }
  return (
    <>
      {changed && <span className="font-[550] text-wait">{t("approval.changed")}</span>}
      {unseen ? (
        <span className="font-[550] text-ink">{t("approval.unseen")}</span>
      ) : (
        <>
          <span className="flex items-center gap-1.5">
            <Key name="D" /> {t("approval.hint.deny")}
          </span>
          <span className="flex items-center gap-1.5">
            <Key name="Tab" /> {t("approval.hint.tab")}
          </span>
        </>
      )}
      <span className="sr-only">{armed && !unseen ? t("approval.armed") : t("approval.arming")}</span>
    </>
  );
}

function Key({ name }: { name: string }) {
  return <kbd className="rounded-[4px] border border-b-2 border-line2 px-1 text-xs">{name}</kbd>;
}
