import { useEffect, useRef, type ReactNode } from "react";
import { useT } from "@/lib/i18n";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { Failure, tell } from "./failure";

interface Props {
  title: ReactNode;
  /** What it means, under the title. */
  body?: ReactNode;
  children?: ReactNode;
  /** The button that leaves all as it is; focus rests on it. */
  keep: string;
  act: ReactNode;
  look: "primary" | "danger";
  disabled: boolean;
  error?: unknown;
  run: () => void;
  close: () => void;
  className?: string;
}

/** AskDialog names what will be done before it is done. */
export function AskDialog({ title, body, children, keep, act, look, disabled, error, run, close, className }: Props) {
  const t = useT();
  const rest = useRef<HTMLButtonElement>(null);
  useEffect(() => rest.current?.focus(), []);
  return (
    <Dialog labelledBy="ask-title" close={close} className={className ?? "w-[480px]"}>
      <div className="min-h-0 overflow-y-auto">
        <div className="px-[22px] pt-5 pb-2">
          <h2 id="ask-title" className="m-0 mb-1 text-xl leading-[1.3] font-[640] tracking-[-0.015em] text-pretty">
            {title}
          </h2>
          {body && <div className="text-pretty text-ink2">{body}</div>}
        </div>
        {children && <div className="flex flex-col gap-3 px-[22px] py-2">{children}</div>}
        {error !== undefined && error !== null && (
          <div className="px-[22px] py-2">
            <Failure told={tell(error)} heading={t("error.refused")} />
          </div>
        )}
      </div>
      <div className="flex shrink-0 flex-wrap justify-end gap-2 px-[22px] pt-3 pb-4">
        <Button ref={rest} onClick={close}>
          {keep}
        </Button>
        <Button look={look} disabled={disabled} onClick={run} className="min-w-0 whitespace-normal">
          {act}
        </Button>
      </div>
    </Dialog>
  );
}
