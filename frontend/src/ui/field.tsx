import { useId, type ComponentProps, type ReactNode } from "react";
import { cx } from "@/lib/cx";

interface Props {
  label: ReactNode;
  value: string;
  change: (value: string) => void;
  placeholder?: string;
  /** What may be chosen; anything may be typed. */
  list?: string[];
  /** More than one makes it a field for text over lines. */
  lines?: number;
  required?: boolean;
  /** A quiet word on what is wanted. */
  hint?: ReactNode;
  /** What is wrong with what stands there. */
  wrong?: ReactNode;
  type?: ComponentProps<"input">["type"];
  disabled?: boolean;
}

export const fieldLook =
  "w-full rounded-md border border-line2 bg-surface px-2.5 py-[5px] font-mono text-sm text-ink placeholder:text-ink3 disabled:opacity-60";

/** Field is one labelled input. */
export function Field({ label, value, change, placeholder, list, lines = 1, required, hint, wrong, type, disabled }: Props) {
  const id = useId();
  const common = {
    value,
    placeholder,
    required,
    disabled,
    spellCheck: false,
    "aria-describedby": hint || wrong ? `${id}-about` : undefined,
    "aria-invalid": wrong ? true : undefined,
  };
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={`${id}-input`} className="text-sm text-ink3">
        {label}
      </label>
      {lines > 1 ? (
        <textarea
          id={`${id}-input`}
          rows={lines}
          {...common}
          onChange={(e) => change(e.target.value)}
          className={cx(fieldLook, "resize-y")}
        />
      ) : (
        <input
          id={`${id}-input`}
          type={type}
          list={list?.length ? id : undefined}
          autoComplete="off"
          {...common}
          onChange={(e) => change(e.target.value)}
          className={fieldLook}
        />
      )}
      {(hint || wrong) && (
        <div id={`${id}-about`} className="text-sm text-pretty">
          {wrong && (
            <p role="alert" className="m-0 text-no">
              {wrong}
            </p>
          )}
          {hint && <p className="m-0 text-ink3">{hint}</p>}
        </div>
      )}
      {list && list.length > 0 && (
        <datalist id={id}>
          {list.map((x) => (
            <option key={x} value={x} />
          ))}
        </datalist>
      )}
    </div>
  );
}
