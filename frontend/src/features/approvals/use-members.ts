import { useState } from "react";
import { useApprovals, useGroups } from "@/api/approvals";
import type { ApprovalGroup, GroupMember } from "@/api/types";

/** Member is one question of the group, and where it stands since the group was opened. */
export interface Member extends GroupMember {
  gone: boolean; // it no longer waits
  joined: boolean; // it came after the group was opened
}

/** Gathered is the group that a question belongs to: who was there stays in place, marked when it no
 * longer waits; who joins comes last, marked as new. A group's name changes with its members, so it is
 * known by the question it was opened with. */
export interface Gathered {
  group: ApprovalGroup | undefined;
  members: Member[];
  query: ReturnType<typeof useGroups>;
}

export function useMembers(id: string): Gathered {
  const query = useGroups();
  const waiting = useApprovals();
  const [known, setKnown] = useState<{ group: ApprovalGroup; members: GroupMember[]; first: number }>();
  const now = query.data?.find((g) => g.members.some((m) => m.id === id || known?.members.some((k) => k.id === m.id)));
  const fresh = (now?.members ?? []).filter((m) => !known?.members.some((k) => k.id === m.id && k.binding === m.binding));
  if (now && fresh.length > 0) {
    const members = [...(known?.members ?? []), ...fresh];
    setKnown({ group: now, members, first: known?.first ?? members.length });
  }
  const pending = new Set((waiting.data ?? []).map((a) => `${a.id} ${a.binding}`));
  const members = (known?.members ?? []).map((m, i) => ({
    ...m,
    gone: waiting.data !== undefined && !pending.has(`${m.id} ${m.binding}`),
    joined: i >= (known?.first ?? 0),
  }));
  return { group: now ?? known?.group, members, query };
}
