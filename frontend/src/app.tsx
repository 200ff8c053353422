import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { newClient } from "./api/client";
import { watch } from "./api/events";
import { LocaleContext, prefer, preferred, type Locale } from "./lib/i18n";
import { newRouter } from "./routes";
import { Door } from "./shell/door";
import { Preferences } from "./shell/preferences";

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
            <RouterProvider router={router} />
          </QueryClientProvider>
        ) : (
          <Door claimFailed={claimFailed} />
        )}
      </Preferences>
    </LocaleContext>
  );
}
