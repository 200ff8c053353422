import { useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { Dialog } from "@/ui/dialog";
import { Failure, tell } from "@/ui/failure";
import { Icon } from "@/ui/icon";

interface Props {
  found: { isError: boolean; error: unknown; data: unknown; refetch: () => unknown };
  /** What is said where the question cannot be found. */
  gone: string;
  close: () => void;
  children: ReactNode;
}

/** DialogFrame is the dialog around a question. Once it is there its height stays, so that no button
 * moves under the pointer whatever is unfolded, chosen or changed. */
export function DialogFrame({ found, gone, close, children }: Props) {
  const t = useT();
  const body = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState<number>();
  const there = found.data !== undefined;
  useLayoutEffect(() => {
    if (there) setHeight(body.current?.offsetHeight);
  }, [there]);
  return (
    <Dialog labelledBy="approval-title" close={close}>
      <button
        type="button"
        aria-label={t("common.close")}
        onClick={close}
        className="absolute top-3 right-3 z-10 rounded-md p-1.5 text-ink3 hover:bg-hover hover:text-ink"
      >
        <Icon name="close" />
      </button>
      <div
        ref={body}
        style={height ? { height } : undefined}
        className="flex max-h-[min(92vh,860px)] min-h-[min(92vh,620px)] flex-col max-[480px]:min-h-[92vh]"
      >
        {there ? (
          children
        ) : (
          <>
            <h2 id="approval-title" className="m-0 px-5 pt-5 pb-3 text-xl font-[640]">
              {found.isError ? gone : t("common.loading")}
            </h2>
            {found.isError ? (
              <div className="p-5">
                <Failure told={tell(found.error)} retry={() => void found.refetch()} />
              </div>
            ) : (
              <Bones rows={6} />
            )}
          </>
        )}
      </div>
    </Dialog>
  );
}
