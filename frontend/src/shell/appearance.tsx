import { setTheme, useTheme, type Theme } from "@/lib/theme";
import { useT, type Key, type Locale } from "@/lib/i18n";
import { Icon, type IconName } from "@/ui/icon";
import { Select } from "@/ui/select";
import { useLanguage } from "./preferences";

const themes: { theme: Theme; icon: IconName; name: Key }[] = [
  { theme: "system", icon: "system", name: "theme.system" },
  { theme: "light", icon: "sun", name: "theme.light" },
  { theme: "dark", icon: "moon", name: "theme.dark" },
];

/** Appearance switches theme and language. */
export function Appearance() {
  const t = useT();
  const chosen = useTheme();
  const { locale, setLocale } = useLanguage();
  return (
    <div className="flex items-center gap-1">
      <div role="radiogroup" aria-label={t("theme.label")} className="flex rounded-md border border-line p-0.5">
        {themes.map(({ theme, icon, name }) => (
          <button
            key={theme}
            type="button"
            role="radio"
            aria-checked={chosen === theme}
            aria-label={t(name)}
            title={t(name)}
            onClick={() => setTheme(theme)}
            className="rounded-sm p-1 text-ink3 hover:text-ink aria-checked:bg-raised aria-checked:text-ink aria-checked:shadow-[0_0_0_1px_var(--line)]"
          >
            <Icon name={icon} size={13} />
          </button>
        ))}
      </div>
      <Select
        aria-label={t("language.label")}
        value={locale}
        onChange={(e) => setLocale(e.target.value as Locale)}
        className="ml-auto text-sm"
      >
        <option value="en">English</option>
        <option value="es">Español</option>
      </Select>
    </div>
  );
}
