import type { SecretPlace } from "@/api/types";
import { useT } from "@/lib/i18n";
import { fieldLook } from "@/ui/field";
import { Icon } from "@/ui/icon";
import { Select } from "@/ui/select";

interface Props {
  places: SecretPlace[];
  change: (places: SecretPlace[]) => void;
}

const kinds = ["header", "query", "body"] as const;

/** PlacesEditor is where in a request the value may stand. Anywhere else a placeholder stays one. */
export function PlacesEditor({ places, change }: Props) {
  const t = useT();
  const set = (i: number, some: Partial<SecretPlace>) => change(places.map((p, at) => (at === i ? { ...p, ...some } : p)));
  return (
    <fieldset className="m-0 flex flex-col gap-1.5 border-0 p-0">
      <legend className="mb-1 p-0 text-sm text-ink3">{t("secrets.grant.places")}</legend>
      {places.map((p, i) => (
        <div key={i} className="flex items-center gap-2">
          <Select
            aria-label={t("secrets.grant.place.in", { n: i + 1 })}
            value={p.in}
            onChange={(e) => set(i, { in: e.target.value })}
            className="w-[150px] shrink-0"
          >
            {kinds.map((kind) => (
              <option key={kind} value={kind}>
                {t(`secrets.grant.in.${kind}`)}
              </option>
            ))}
          </Select>
          <input
            aria-label={t("secrets.grant.place.name", { n: i + 1 })}
            value={p.name}
            spellCheck={false}
            autoComplete="off"
            onChange={(e) => set(i, { name: e.target.value })}
            className={fieldLook}
          />
          {places.length > 1 && (
            <button
              type="button"
              aria-label={t("secrets.grant.place.remove", { n: i + 1 })}
              onClick={() => change(places.filter((_, at) => at !== i))}
              className="rounded-md p-1.5 text-ink3 hover:bg-hover hover:text-ink"
            >
              <Icon name="close" size={14} />
            </button>
          )}
        </div>
      ))}
      <button
        type="button"
        onClick={() => change([...places, { in: "header", name: "" }])}
        className="self-start text-sm text-info hover:underline"
      >
        {t("secrets.grant.place.add")}
      </button>
    </fieldset>
  );
}
