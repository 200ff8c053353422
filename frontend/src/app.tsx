import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { newClient } from "./api/client";
import { watch } from "./api/events";
import { canLeave, leave } from "./api/transport";
import { LocaleContext, prefer, preferred, type Locale } from "./lib/i18n";
import { newRouter } from "./routes";
import { Door } from "./shell/door";
import { Leaving, Preferences } from "./shell/preferences";

interface Props {
  signedIn: boolean;
  claimFailed: boolean;
}

/** App joins language, cache, events and routes. Without a session it is a closed door. */
export function App({ signedIn, claimFailed }: Props) {
  const [open, setOpen] = useState(signedIn);
  const [locale, setLocale] = useState<Locale>(preferred);
  const client = useMemo(() => newClient(() => setOpen(false)), []);
  const router = useMemo(() => newRouter(), []);
  const language = useMemo(() => ({ locale, setLocale: (next: Locale) => (prefer(next), setLocale(next)) }), [locale]);

  const signOut = useMemo(() => {
    const close = () => {
      client.clear(); // what was seen is not there for who opens this browser next
      setOpen(false);
    };
    return canLeave() ? () => void leave().then(close, close) : undefined;
  }, [client]);

  useEffect(() => {
    document.documentElement.lang = locale;
  }, [locale]);

  useEffect(() => {
    if (open) return watch(client);
  }, [open, client]);

  return (
    <LocaleContext value={locale}>
      <Preferences value={language}>
        {open ? (
          <QueryClientProvider client={client}>
            <Leaving value={signOut}>
              <RouterProvider router={router} />
            </Leaving>
          </QueryClientProvider>
        ) : (
          <Door claimFailed={claimFailed} />
        )}
      </Preferences>
    </LocaleContext>
  );
}
