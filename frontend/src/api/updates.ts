import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "./transport";
import type { Update } from "./types";

const path = (server: string) => `/servers/${encodeURIComponent(server)}/update`;

/** useFindUpdate installs the newest allowed version beside the one in use, and says what would change. Nothing does. */
export function useFindUpdate(server: string) {
  return useMutation({ mutationFn: () => post<Update>(path(server)) });
}

/** useAcceptUpdate has the server run from what was shown. */
export function useAcceptUpdate(server: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (binding: string) => post<Update>(`${path(server)}/accept`, { binding }),
    onSettled: () => Promise.all(["servers", "pins", "audit"].map((key) => client.invalidateQueries({ queryKey: [key] }))),
  });
}
