import { QueryClient } from "@tanstack/react-query";
import { Refused, signOut } from "./transport";

/** newClient makes the cache of everything the daemon said. Events make it old, not time. */
export function newClient(signedOut: () => void): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Infinity,
        refetchOnWindowFocus: false,
        networkMode: "always",
        retry: (count, err) => count < 2 && !(err instanceof Refused && err.problem.status >= 400 && err.problem.status < 500),
        retryDelay: (n) => 300 * 2 ** n,
      },
      mutations: { networkMode: "always" },
    },
  });
  client.getQueryCache().subscribe((change) => {
    const err = change.query.state.error;
    if (change.type !== "updated" || !(err instanceof Refused) || err.problem.status !== 401) return;
    signOut();
    signedOut();
  });
  return client;
}
