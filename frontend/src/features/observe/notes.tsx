import { Icon } from "@/ui/icon";
import { Said } from "@/ui/said";

/** Notes are sentences on what cannot be seen or held to. */
export function Notes({ notes }: { notes: string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul className="m-0 flex list-none flex-col gap-1 p-0 text-ink2">
      {notes.map((n) => (
        <li key={n} className="flex gap-2">
          <Icon name="warn" size={14} className="mt-0.5 text-ink3" />
          <Said text={n} />
        </li>
      ))}
    </ul>
  );
}
