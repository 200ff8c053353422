import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, remove } from "./transport";
import type { Grant } from "./types";

/** useGrants are the permissions in force, or with all also those that ended, oldest first. */
export function useGrants(all: boolean) {
  return useQuery({
    queryKey: ["grants", all],
    queryFn: async () => (await get<Grant[] | null>(all ? "/grants?all=true" : "/grants")) ?? [],
  });
}

export function useRevoke() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => remove(`/grants/${encodeURIComponent(id)}`),
    onSettled: () => client.invalidateQueries({ queryKey: ["grants"] }),
  });
}
