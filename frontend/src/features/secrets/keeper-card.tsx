import { useRef, useState, type FormEvent, type ReactNode } from "react";
import { useOpenKeeper } from "@/api/secrets";
import type { Keeper } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import { Button } from "@/ui/button";
import { CopyCommand } from "@/ui/copy-command";
import { tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { HiddenInput, type Hidden } from "@/ui/hidden-input";
import { Icon } from "@/ui/icon";
import { Said } from "@/ui/said";

const least = 8;

/** KeeperCard says what holds the key that secrets are sealed with, and where it is out of reach what to do. */
export function KeeperCard({ keeper }: { keeper: Keeper }) {
  const t = useT();
  if (keeper.state === "ready") {
    return (
      <p className="m-0 flex items-center gap-2 text-ink2">
        <Icon name="lock" size={14} className="text-ok" />
        {t(keeper.by === "file" ? "secrets.keeper.file" : "secrets.keeper.keyring")}
      </p>
    );
  }
  const waits = keeper.state === "waiting";
  return (
    <section
      aria-labelledby="keeper-title"
      className={cx(
        "flex flex-col gap-2 rounded-xl border px-5 py-4",
        waits ? "border-wait-line bg-wait-bg" : "border-line2 bg-surface",
      )}
    >
      <h2 id="keeper-title" className="m-0 flex items-center gap-2 text-lg font-[620] tracking-[-0.01em]">
        <Icon name="lock" className={waits ? "text-wait" : "text-no"} />
        {t(waits ? "secrets.keeper.waiting" : keeper.state === "locked" ? "secrets.keeper.locked" : "secrets.keeper.none")}
      </h2>
      <p className="m-0 text-pretty text-ink2">
        <Said text={keeper.why} />
      </p>
      {waits ? <Cancel /> : keeper.by === "keyring" ? <Again next={keeper.next} /> : <Passphrase keeper={keeper} />}
    </section>
  );
}

/** Cancel ends the keyring's question. */
function Cancel() {
  const t = useT();
  const keeper = useOpenKeeper();
  return (
    <Deed error={keeper.error}>
      <p className="m-0 text-pretty">{t("secrets.keeper.waiting.body")}</p>
      <div>
        <Button small disabled={keeper.pending} onClick={() => void keeper.run({ cancel: true })}>
          {t("secrets.keeper.cancel")}
        </Button>
      </div>
    </Deed>
  );
}

/** Again has a locked keyring ask the person. */
function Again({ next }: { next: string }) {
  const t = useT();
  const keeper = useOpenKeeper();
  return (
    <Deed error={keeper.error}>
      <Next text={next} />
      <div>
        <Button small disabled={keeper.pending} onClick={() => void keeper.run({})}>
          {t("secrets.keeper.ask")}
        </Button>
      </div>
    </Deed>
  );
}

/** Passphrase opens the file with the key, or makes it: then the passphrase is wanted twice. */
function Passphrase({ keeper }: { keeper: Keeper }) {
  const t = useT();
  const open = useOpenKeeper();
  const create = keeper.state === "none";
  const [choosing, setChoosing] = useState(!create);
  const first = useRef<Hidden>(null);
  const second = useRef<Hidden>(null);
  const [filled, setFilled] = useState([false, false]);
  const [wrong, setWrong] = useState<"short" | "differ">();
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const passphrase = first.current?.take() ?? "";
    const again = create ? (second.current?.take() ?? "") : passphrase;
    if (create && passphrase !== again) return setWrong("differ");
    if (create && [...passphrase].length < least) return setWrong("short");
    setWrong(undefined);
    void open.run({ passphrase, ...(create && { create }) });
  };
  if (!choosing) {
    return (
      <>
        <Next text={keeper.next} />
        <div>
          <Button small onClick={() => setChoosing(true)}>
            {t("secrets.keeper.choose")}
          </Button>
        </div>
      </>
    );
  }
  return (
    <Deed error={open.error}>
      <form onSubmit={submit} autoComplete="off" className="flex max-w-[420px] flex-col gap-2.5">
        <HiddenInput
          handle={first}
          label={t("secrets.keeper.passphrase")}
          filled={(f) => setFilled(([, b]) => [f, b!])}
          hint={create && t("secrets.keeper.passphrase.hint", { n: least })}
          focus={create}
        />
        {create && (
          <HiddenInput handle={second} label={t("secrets.keeper.passphrase.again")} filled={(f) => setFilled(([a]) => [a!, f])} />
        )}
        {wrong && (
          <p role="alert" className="m-0 text-no">
            {t(`secrets.keeper.${wrong}`, { n: least })}
          </p>
        )}
        <div>
          <Button type="submit" look="primary" small disabled={open.pending || !filled[0] || (create && !filled[1])}>
            {t(open.pending ? "secrets.keeper.opening" : create ? "secrets.keeper.create" : "secrets.keeper.unlock")}
          </Button>
        </div>
      </form>
    </Deed>
  );
}

function Deed({ error, children }: { error: unknown; children: ReactNode }) {
  const problem = error === undefined ? undefined : tell(error);
  return (
    <>
      {children}
      {problem && (
        <p role="alert" className="m-0 text-no">
          <Foreign text={[problem.title, problem.detail].filter(Boolean).join(": ")} />
        </p>
      )}
    </>
  );
}

const command = /^garita [\w -]+$/;

function Next({ text }: { text: string }) {
  if (text === "") return null;
  return command.test(text) ? (
    <CopyCommand command={text} />
  ) : (
    <p className="m-0 text-pretty text-ink2">
      <Foreign text={text} />
    </p>
  );
}
