import {
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { cx } from "@/lib/cx";
import { fieldLook } from "./field";

/** Hidden is a value that was typed: take gives it once, and nothing is left of it on the page. */
export interface Hidden {
  take: () => string;
}

interface Props {
  label: ReactNode;
  hint?: ReactNode;
  wrong?: ReactNode;
  /** What is pasted may have several lines, as keys do. */
  lines?: boolean;
  handle: RefObject<Hidden | null>;
  /** Told whether anything stands in it. */
  filled: (filled: boolean) => void;
  focus?: boolean;
}

/** HiddenInput takes a secret: it is never shown, and never in the state of the page. */
export function HiddenInput({ label, hint, wrong, lines, handle, filled, focus }: Props) {
  const id = useId();
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const carried = useRef("");
  const [several, setSeveral] = useState(false);
  useImperativeHandle(handle, () => ({
    take() {
      const value = field.current?.value ?? "";
      if (field.current) field.current.value = "";
      setSeveral(false);
      filled(false);
      return value;
    },
  }));
  useLayoutEffect(() => {
    if (!several || !field.current) return;
    field.current.value = carried.current;
    carried.current = "";
    field.current.focus();
    filled(true);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once, when it has become a text area
  }, [several]);
  useLayoutEffect(() => {
    if (focus) field.current?.focus();
  }, [focus]);
  const paste = (e: ClipboardEvent) => {
    const text = e.clipboardData.getData("text");
    if (!lines || several || !text.trim().includes("\n")) return; // a password field would lose the line ends
    e.preventDefault();
    carried.current = text;
    setSeveral(true);
  };
  const common = {
    id,
    ref: field,
    autoComplete: "off",
    spellCheck: false,
    autoCapitalize: "off",
    "aria-describedby": hint || wrong ? `${id}-about` : undefined,
    "aria-invalid": wrong ? true : undefined,
    onChange: (e: { target: { value: string } }) => filled(e.target.value !== ""),
    onPaste: paste,
  };
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-sm text-ink3">
        {label}
      </label>
      {several ? (
        <textarea rows={4} {...common} className={cx(fieldLook, "hidden-text resize-y")} />
      ) : (
        <input type="password" {...common} className={fieldLook} />
      )}
      {(hint || wrong) && (
        <div id={`${id}-about`} className="text-sm text-pretty">
          {wrong && <p className="m-0 text-no">{wrong}</p>}
          {hint && <p className="m-0 text-ink3">{hint}</p>}
        </div>
      )}
    </div>
  );
}
