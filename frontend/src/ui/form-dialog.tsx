import type { FormEvent, ReactNode } from "react";
import { useT } from "@/lib/i18n";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { Failure, tell } from "./failure";

interface Props {
  title: ReactNode;
  body?: ReactNode;
  children: ReactNode;
  /** What stays in sight above the buttons. */
  foot?: ReactNode;
  leave: string;
  act: string;
  disabled: boolean;
  error?: unknown;
  submit: () => void;
  close: () => void;
  className?: string;
}

/** FormDialog is a form over the page, with one button that sends it. */
export function FormDialog({ title, body, children, foot, leave, act, disabled, error, submit, close, className }: Props) {
  const t = useT();
  const send = (e: FormEvent) => {
    e.preventDefault();
    if (!disabled) submit();
  };
  return (
    <Dialog labelledBy="form-title" close={close} className={className ?? "w-[520px]"}>
      <form onSubmit={send} autoComplete="off" className="flex min-h-0 flex-col">
        <div className="min-h-0 overflow-y-auto">
          <div className="px-[22px] pt-5 pb-2">
            <h2 id="form-title" className="m-0 mb-1 text-xl leading-[1.3] font-[640] tracking-[-0.015em] text-pretty">
              {title}
            </h2>
            {body && <div className="text-pretty text-ink2">{body}</div>}
          </div>
          <div className="flex flex-col gap-3 px-[22px] py-2">{children}</div>
          {error !== undefined && error !== null && (
            <div className="px-[22px] py-2">
              <Failure told={tell(error)} heading={t("error.refused")} />
            </div>
          )}
        </div>
        {foot && <div className="shrink-0 border-t border-line px-[22px] pt-2.5">{foot}</div>}
        <div className="flex shrink-0 justify-end gap-2 px-[22px] pt-3 pb-4">
          <Button onClick={close}>{leave}</Button>
          <Button type="submit" look="primary" disabled={disabled}>
            {act}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
