import { useMutation, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { get, post, remove } from "./transport";
import type { Keeper, KeeperOpen, Secret, SecretGrant, SecretRotation, Secrets, SecretSet, SecretUsed } from "./types";

const path = (name: string) => `/secrets/${encodeURIComponent(name)}`;

/** useSecrets is every secret there is or that a server wants, without values, and what keeps their key. */
export function useSecrets() {
  return useQuery({ queryKey: ["secrets"], queryFn: () => get<Secrets>("/secrets") });
}

/** useSecretUses is what a secret was used for in the last days, the latest first. */
export function useSecretUses(name: string, days: number) {
  return useQuery({
    queryKey: ["uses", name, days],
    queryFn: async () => (await get<SecretUsed[] | null>(`${path(name)}/uses?since=${encodeURIComponent(ago(days))}`)) ?? [],
  });
}

function ago(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
}

const renew = (client: QueryClient) =>
  Promise.all(["secrets", "uses", "servers"].map((key) => client.invalidateQueries({ queryKey: [key] })));

export function useGrantSecret(name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (grant: SecretGrant) => post<Secret>(`${path(name)}/grants`, grant),
    onSettled: () => renew(client),
  });
}

/** useProposeGrant completes a grant by what is known of its server; nothing is granted. */
export function useProposeGrant(name: string) {
  return useMutation({ mutationFn: (grant: SecretGrant) => post<SecretGrant>(`${path(name)}/grants/proposal`, grant) });
}

export function useRevokeSecret(name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (server: string) => remove(`${path(name)}/grants/${encodeURIComponent(server)}`),
    onSettled: () => renew(client),
  });
}

export function useRemoveSecret(name: string) {
  const client = useQueryClient();
  return useMutation({ mutationFn: () => remove(path(name)), onSettled: () => renew(client) });
}

export function useRotateSecret(name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (days: number) => post<SecretRotation>(`${path(name)}/rotate?since=${encodeURIComponent(ago(days))}`, {}),
    onSettled: () => renew(client),
  });
}

/** useSetSecret sends a value and keeps it nowhere: a mutation would remember what it was called with. */
export function useSetSecret() {
  return useUnremembered((what: SecretSet) => post<Secret>("/secrets", what));
}

/** useOpenKeeper unlocks or makes the file with the key; the passphrase is kept nowhere. */
export function useOpenKeeper() {
  return useUnremembered((what: KeeperOpen) => post<Keeper>("/secrets/keeper", what));
}

/** useUnremembered runs a deed whose argument nothing may hold on to. run is true once it is done. */
function useUnremembered<A>(deed: (what: A) => Promise<unknown>) {
  const client = useQueryClient();
  const [state, setState] = useState<{ pending: boolean; error?: unknown }>({ pending: false });
  const run = async (what: A): Promise<boolean> => {
    setState({ pending: true });
    try {
      await deed(what);
      setState({ pending: false });
      return true;
    } catch (error) {
      setState({ pending: false, error });
      return false;
    } finally {
      void renew(client);
    }
  };
  return { ...state, run };
}
