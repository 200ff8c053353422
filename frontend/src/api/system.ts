import { useMutation, useQuery } from "@tanstack/react-query";
import { get, post } from "./transport";
import type { AuditEvent, Doctor, Status, Verification } from "./types";

export function useStatus() {
  return useQuery({ queryKey: ["status"], queryFn: () => get<Status>("/status") });
}

export function useDoctor() {
  return useQuery({ queryKey: ["doctor"], queryFn: async () => (await get<Doctor>("/doctor")).checks ?? [] });
}

/** useAuditTail follows the end of the record, oldest first. */
export function useAuditTail(limit: number) {
  return useQuery({
    queryKey: ["audit", limit],
    queryFn: async () => (await get<AuditEvent[] | null>(`/audit?after=-${limit}&limit=${limit}`)) ?? [],
  });
}

export function useVerify() {
  return useMutation({ mutationFn: () => post<Verification>("/audit/verify") });
}
