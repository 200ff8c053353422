import { useMutation, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { slice } from "@/lib/raw-json";
import { get, getText } from "./transport";
import type { Call, CallPage } from "./types";

const pageSize = 200;

/** CallList is what is known of the calls, newest first; next is where older ones go on. */
export interface CallList {
  calls: Call[];
  next: string;
}

export const callsKey = ["calls"] as const;

/** useCalls follows the calls. What was loaded stays; an event fetches the newest page only. */
export function useCalls() {
  const client = useQueryClient();
  return useQuery({ queryKey: callsKey, queryFn: () => newest(client) });
}

/** useOlderCalls loads the page after what is there. */
export function useOlderCalls() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const list = client.getQueryData<CallList>(callsKey);
      if (!list?.next) return;
      const page = await get<CallPage>(`/calls?limit=${pageSize}&before=${encodeURIComponent(list.next)}`);
      client.setQueryData<CallList>(callsKey, (now) => now && { calls: merge(now.calls, page.calls ?? []), next: page.next });
    },
  });
}

async function newest(client: QueryClient): Promise<CallList> {
  const known = client.getQueryData<CallList>(callsKey);
  const page = await get<CallPage>(`/calls?limit=${pageSize}`);
  const head = page.calls ?? [];
  const seen = new Set(head.map((c) => c.id));
  const joined = known?.calls.some((c) => seen.has(c.id));
  if (!known || !joined) return { calls: head, next: page.next };
  const older = known.calls.filter((c) => !seen.has(c.id));
  return { calls: merge(head, await renewed(older)), next: older.length ? known.next : page.next };
}

/** renewed asks again for calls that were still open when they left the newest page. */
async function renewed(calls: Call[]): Promise<Call[]> {
  const open = calls.filter((c) => c.outcome === "waiting" || c.outcome === "running");
  const fresh = await Promise.all(open.map((c) => get<Call>(`/calls/${encodeURIComponent(c.id)}`).catch(() => c)));
  const byID = new Map(fresh.map((c) => [c.id, c]));
  return calls.map((c) => byID.get(c.id) ?? c);
}

function merge(newer: Call[], older: Call[]): Call[] {
  const seen = new Set(newer.map((c) => c.id));
  return [...newer, ...older.filter((c) => !seen.has(c.id))];
}

/** WholeCall is a call with the raw text of its arguments, as they are kept. */
export interface WholeCall {
  call: Call;
  raw: string | undefined;
  /** And of its answers to what the server asked in the middle of the call. */
  input: string | undefined;
}

export function useCall(id: string | undefined) {
  return useQuery({
    queryKey: ["call", id],
    enabled: id !== undefined,
    queryFn: async (): Promise<WholeCall> => {
      const { text, value } = await getText<Call>(`/calls/${encodeURIComponent(id ?? "")}`);
      return { call: value, raw: slice(text, ["arguments"]), input: slice(text, ["input"]) };
    },
  });
}
