import { useId } from "react";
import type { Match, Offer, Permit } from "@/api/types";
import { useT, type Translate } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { tell } from "@/ui/failure";
import { PatternEditor } from "./pattern-editor";
import type { Scope } from "./use-scope";

const order = ["once", "session", "until", "always", "collect"] as const;

interface Props {
  scope: Scope;
  offers: Offer[];
  disabled: boolean;
  /** What is asked about: the word for once. */
  once?: "call" | "calls" | "other";
}

/** ScopeChoice is how far a yes reaches: the narrowest by default, each in words, with what it would
 * have let through. Its height does not change with what is chosen. */
export function ScopeChoice({ scope, offers, disabled, once = "call" }: Props) {
  const t = useT();
  const id = useId();
  const chosen = scope.permit.scope ?? "once";
  const offered = order.filter((s) => s === "once" || offers.some((o) => o.scope === s));
  const of = (s: string) => offers.filter((o) => (o.scope ?? "once") === s);
  if (offered.length === 1) {
    return (
      <dl className="m-0 flex shrink-0 border-t border-line px-[22px] py-2.5">
        <dt className="mr-3 w-[104px] shrink-0 text-ink3">{t("scope.label")}</dt>
        <dd className="m-0">{t(`scope.once.${once}.words`)}</dd>
      </dl>
    );
  }
  return (
    <fieldset disabled={disabled} className="m-0 shrink-0 border-0 border-t border-line px-[22px] pt-2.5 pb-0">
      <legend className="float-left mr-3 w-[104px] p-0 pt-[5px] text-ink3">{t("scope.label")}</legend>
      <div className="flex flex-wrap gap-1.5">
        {offered.map((s) => (
          <label
            key={s}
            className="relative rounded-md border border-line2 bg-raised px-2.5 py-1 has-checked:border-focus has-checked:bg-info-bg has-checked:font-[580] has-checked:text-info has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
          >
            <input
              type="radio"
              name={id}
              value={s}
              checked={chosen === s}
              onChange={() => (s === "once" ? scope.edit({ scope: "once" }) : scope.choose(of(s)[0]!))}
              className="absolute inset-0 m-0 size-full cursor-pointer opacity-0"
            />
            {s === "once" ? t(`scope.once.${once}`) : t(`scope.${s}`)}
          </label>
        ))}
      </div>
      <div
        role="group"
        aria-label={t("scope.means")}
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else the keyboard cannot scroll it
        tabIndex={0}
        className="clear-both mt-2 flex h-[136px] flex-col gap-1 overflow-y-auto pl-[116px] text-sm focus-visible:outline-offset-[-2px] max-[620px]:pl-0"
      >
        {chosen === "once" ? (
          <Once offers={offers} words={t(`scope.once.${once}.words`)} />
        ) : (
          <Chosen scope={scope} alternatives={of(chosen)} />
        )}
      </div>
    </fieldset>
  );
}

/** Once says what more there would be to choose, so that nobody has to try it to know. */
function Once({ offers, words }: { offers: Offer[]; words: string }) {
  const t = useT();
  const wider = (["always", "collect"] as const).flatMap((s) => {
    const offer = offers.find((o) => o.scope === s);
    return offer ? [{ s, offer }] : [];
  });
  return (
    <>
      <p className="m-0 text-ink">{words}</p>
      {wider.map(({ s, offer }) => (
        <p key={s} className="m-0 text-ink3">
          {t("scope.would", { scope: t(`scope.${s}`) })} <Foreign text={offer.words} />.
        </p>
      ))}
    </>
  );
}

function Chosen({ scope, alternatives }: { scope: Scope; alternatives: Offer[] }) {
  const t = useT();
  const { offer, permit } = scope;
  const problem = scope.problem ? tell(scope.problem) : undefined;
  return (
    <>
      {problem ? (
        <p role="alert" className="m-0 text-no">
          {t("scope.cannot")}: <Foreign text={[problem.title, problem.detail].filter(Boolean).join(": ")} />
        </p>
      ) : (
        <p className="m-0 text-pretty text-ink">
          {offer ? (
            <>
              {t("scope.lets")} <Foreign text={offer.words} />.
            </>
          ) : (
            t("scope.asking")
          )}{" "}
          <span className="text-ink3">{t(permit.scope === "collect" ? "scope.collect.hint" : "scope.takeBack")}</span>
        </p>
      )}
      {alternatives.length > 1 && (
        <div className="flex flex-wrap gap-x-3 gap-y-0.5">
          {alternatives.map((a, i) => (
            <label key={i} className="flex items-center gap-1.5">
              <input type="radio" checked={same(a, permit)} onChange={() => scope.choose(a)} className="accent-info" />
              <Foreign text={inShort(a.match ?? [], t)} />
            </label>
          ))}
        </div>
      )}
      <PatternEditor permit={permit} edit={scope.edit} />
      {offer && <Preview offer={offer} />}
    </>
  );
}

const shown = 3;

/** Preview is what of the calls that wait, or were asked about lately, it would have let through. */
function Preview({ offer }: { offer: Offer }) {
  const t = useT();
  const matches = offer.matches ?? [];
  if (matches.length === 0) return <p className="m-0 text-ink3">{t("scope.matches.none")}</p>;
  const more = matches.length - shown;
  return (
    <p className="m-0 text-ink2">
      {t("scope.matches", { n: matches.length })}{" "}
      {matches.slice(0, shown).map((m, i) => (
        <span key={m.call || i}>
          {i > 0 && " · "}
          <Foreign text={m.sentence} className="font-mono" />
        </span>
      ))}
      {more > 0 && ` · ${t("common.more", { n: more })}`}
    </p>
  );
}

function same(offer: Offer, permit: Permit): boolean {
  return offer.scope === permit.scope && JSON.stringify(offer.match ?? []) === JSON.stringify(permit.match ?? []);
}

/** inShort names a pattern among others. */
function inShort(match: Match[], t: Translate): string {
  if (match.length === 0) return t("scope.any");
  return match
    .map((m) => {
      const name = m.path.replace(/^\//, "");
      if (m.prefix) return t("scope.in", { name, value: m.prefix });
      if (m.command) return t("scope.command", { value: m.command });
      return m.path === "" ? t("scope.exact") : t("scope.equals", { name });
    })
    .join(", ");
}
