import { useId } from "react";

interface Props {
  label: string;
  value: string;
  change: (value: string) => void;
  placeholder?: string;
  /** What may be chosen; anything may be typed. */
  list?: string[];
  /** More than one makes it a field for text over lines. */
  lines?: number;
  required?: boolean;
}

const look = "w-full rounded-md border border-line bg-surface px-2.5 py-[5px] font-mono text-sm text-ink placeholder:text-ink3";

/** Field is one labelled input. */
export function Field({ label, value, change, placeholder, list, lines = 1, required }: Props) {
  const id = useId();
  return (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="text-sm text-ink3">{label}</span>
      {lines > 1 ? (
        <textarea
          rows={lines}
          value={value}
          placeholder={placeholder}
          spellCheck={false}
          onChange={(e) => change(e.target.value)}
          className={`${look} resize-y`}
        />
      ) : (
        <input
          value={value}
          placeholder={placeholder}
          required={required}
          list={list?.length ? id : undefined}
          spellCheck={false}
          autoComplete="off"
          onChange={(e) => change(e.target.value)}
          className={look}
        />
      )}
      {list && list.length > 0 && (
        <datalist id={id}>
          {list.map((x) => (
            <option key={x} value={x} />
          ))}
        </datalist>
      )}
    </label>
  );
}
