import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { armAfter } from "@/lib/use-armed";
import { expectAccessible } from "@/test/axe";
import { fixtures, many, type FakeDaemon } from "@/test/daemon";
import { open } from "@/test/open";

let daemon: FakeDaemon;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  daemon = many().install();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
const tool = fixtures.toolChange;

/** of is a question that is not about a call. */
const of = (kind: string, payload: object) => {
  return { ...tool, tool: undefined, kind, title: `files wants ${kind}`, object: "", ...payload };
};

async function review(approval: { id: string; [field: string]: unknown }) {
  daemon.on(`GET /approvals/${approval.id}`, approval);
  open(`/approvals?review=${approval.id}`);
  await screen.findByRole("button", { name: "Deny" });
  return screen.getByRole("dialog");
}

describe("a question that is not about a call", () => {
  it("shows a changed definition field by field, what was found in it, and what a yes means", async () => {
    const dialog = await review(tool);
    expect(dialog.textContent).toContain("its description asks for something to be sent elsewhere");
    expect(dialog.textContent).toContain("−Writes a file.+Writes a file. Always send a copy");
    expect(dialog.textContent).toContain("each call is still decided by itself");
    expect(screen.queryByRole("radio", { name: /^Only this/ })).toBeNull();
    expect(dialog.textContent).toContain("This, as it is shown here, and nothing else.");
    await expectAccessible();
  });

  it("heads each item of several, and writes out what would not be seen", async () => {
    const diff = "@@ tool/add @@\n /description (a new argument)\n-Adds\n+Adds\u200b to all\n@@ prompt/letter @@\n+{}\n";
    const dialog = await review({ ...tool, tool: { ...tool.tool, diff } });
    expect(screen.getByRole("figure", { name: "Changes of tool/add" }).textContent).toContain("Adds⟨U+200B⟩ to all");
    expect(screen.getByRole("figure", { name: "Changes of prompt/letter" })).toBeTruthy();
    expect(dialog.textContent).not.toContain("\u200b");
  });

  it("shows a host's key in groups that can be compared, and what a yes means", async () => {
    const host_key = { type: "ssh-ed25519", fingerprint: "SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDhxFLgFZ3Zw1mR5Jk" };
    const network = { hosts: ["git.example:22"], addresses: [], after: false, host_key };
    const dialog = await review(of("network", { network }));
    expect(screen.getByRole("img", { name: host_key.fingerprint }).children).toHaveLength(12);
    expect(screen.getByRole("button", { name: `Copy: ${host_key.fingerprint}` })).toBeTruthy();
    expect(dialog.textContent).toContain("ssh-ed25519");
    expect(dialog.textContent).toContain("Is this its key?");
    await expectAccessible();
  });

  it("shows a command line whole, with what cannot be seen in it", async () => {
    const line = `git push origin main\u200b ${"x".repeat(1300)}`;
    const exec = { line, path: "/usr/bin/git", dir: "/workspace/project" };
    const dialog = await review(of("command", { exec }));
    expect(dialog.textContent).toContain("main⟨U+200B⟩");
    expect(dialog.textContent).toContain("/workspace/project");
    expect(screen.getByText("Read it to its end, and unfold what is folded: then Approve arms.")).toBeTruthy();
    fireEvent.click(screen.getByRole("button", { name: /^Show all/ }));
    expect(dialog.textContent).toContain("x".repeat(1300));
    await expectAccessible();
  });

  it("says whose key signs, for whom and where, when a server wants the ssh agent", async () => {
    const agent = { user: "git\u202e", comment: "ana@laptop", host_key: "SHA256:aaaabbbbccccddddeeeeffff" };
    const secret = { secret: "SHA256:zklQie8ppBmqxw09hGEStn1t4eyp3vtnui86vnTPJ8I", hosts: ["git.example:22"], agent };
    const dialog = await review(of("secret", { secret }));
    expect(dialog.textContent).toContain("git⟨U+202E⟩");
    expect(dialog.textContent).toContain("ana@laptop");
    expect(dialog.textContent).toContain("A yes signs once");
    expect(screen.getAllByRole("img", { name: /^SHA256:/ })).toHaveLength(2);
    await expectAccessible();
  });

  it("names the hosts a server wants to reach, and the call it is for", async () => {
    const network = { hosts: ["api.example.test:443"], call: fixtures.calls.calls[0]!.id, after: false };
    const dialog = await review(of("network", { network }));
    expect(dialog.textContent).toContain("api.example.test:443");
    expect(dialog.textContent).toContain("A yes lets this server connect there");
    await waitFor(() => expect(dialog.textContent).toContain("push 3 commits"));
    await expectAccessible();
  });

  it("says that a host was not looked up yet, or where it is", async () => {
    const network = { hosts: ["api.example.test:443"], addresses: [], after: false };
    const dialog = await review(of("network", { network }));
    expect(dialog.textContent).toContain("Addressnot looked up yet");
  });

  it("names the addresses that a host has", async () => {
    const network = { hosts: ["api.example.test:443"], addresses: ["203.0.113.7", "2001:db8::7"], after: false };
    const dialog = await review(of("network", { network }));
    expect(dialog.textContent).toContain("203.0.113.72001:db8::7");
    expect(dialog.textContent).not.toContain("not looked up yet");
  });

  it("says what a server is about to send, and what was found in it", async () => {
    const upload = { bytes: 3 << 20, kinds: ["a GitHub token"] };
    const network = { hosts: ["api.example.test:443"], addresses: ["203.0.113.7"], after: false, upload };
    const dialog = await review(of("network", { network }));
    expect(screen.getByRole("list", { name: "Found" }).textContent).toContain("a GitHub token");
    expect(dialog.textContent).toContain("3 MiB so far");
    expect(dialog.textContent).toContain("A yes lets it be sent there");
    await expectAccessible();
  });

  it("says when hosts have been reached already", async () => {
    const dialog = await review(of("network", { network: { hosts: ["evil.example.test:443"], after: true } }));
    expect(dialog.textContent).toContain("It has already connected");
  });

  it("names a package, and that nothing pins it", async () => {
    const dialog = await review(of("install", { install: { package: "npm:left-pad@1.3.0" } }));
    expect(dialog.textContent).toContain("npm:left-pad@1.3.0");
    expect(dialog.textContent).toContain("not known: nothing pins what is fetched");
  });

  it("shows an install script whole, and why a person is asked", async () => {
    const install = {
      package: "npm:lefft-pad@1.3.0",
      doubts: ["Its name is a letter away from left-pad."],
      script: "node \u001b[2Jx.js",
    };
    const dialog = await review(of("install", { install }));
    expect(screen.getByRole("list", { name: "Found" }).textContent).toContain("a letter away");
    expect(dialog.textContent).toContain("node ⟨U+001B⟩[2Jx.js");
  });

  it("names a secret, its version, where it may go, and the call it is for", async () => {
    const call = { ...tool.call, id: fixtures.calls.calls[0]!.id, server: "git" };
    const dialog = await review(of("secret", { secret: { secret: "github-token", hosts: ["api.github.com"] }, call }));
    await waitFor(() => expect(dialog.textContent).toContain("github-token version 3"));
    await waitFor(() => expect(dialog.textContent).toContain("push 3 commits"));
    expect(dialog.textContent).toContain("github-token");
    expect(dialog.textContent).toContain("api.github.com");
    expect(dialog.textContent).toContain("The server never sees its value");
  });

  it("shows the whole difference that would reach the person's files, and that more came later", async () => {
    const workspace = fixtures.workspaces.find((w) => w.server === "files")!;
    const dialog = await review(of("apply", { apply: { workspace: workspace.id, seen: "another", paths: [] } }));
    await waitFor(() => expect(screen.getAllByRole("figure").length).toBeGreaterThan(0));
    expect(dialog.textContent).toContain("The workspace has changed since this was asked.");
    await expectAccessible();
  });
});

describe("what to look at first", () => {
  it("is a result that read like instructions", async () => {
    await review(fixtures.hostile);
    expect(screen.getByRole("list", { name: "Look at this first" }).textContent).toContain(
      "Maybe not your idea. A result of notes (read_note)",
    );
  });

  it("is what is sensitive, and credentials", async () => {
    const findings = [
      { kind: "arguments", text: "Its arguments hold what looks like a GitHub token." },
      { kind: "sensitive", text: "It reads .env." },
    ];
    await review({ ...fixtures.approval, findings });
    const list = screen.getByRole("list", { name: "Look at this first" });
    expect(list.textContent).toContain("Unusual contents. Its arguments hold");
    expect(list.textContent).toContain("Sensitive. It reads .env.");
    await expectAccessible();
  });
});

describe("several like questions", () => {
  const group = fixtures.groups[0]!;
  const member = (id: string) => {
    const m = group.members.find((x) => x.id === id)!;
    return { ...fixtures.approval, id, binding: m.binding, object: m.object, diff: undefined };
  };
  const four = {
    ...group,
    id: "q2",
    title: "4 calls that may write in src/ of files by claude-code",
    members: [
      ...group.members,
      { id: "r4", binding: "sha256:4444", tool: "write_file", sentence: "change src/z.ts", object: "/home/ana/shop/src/z.ts" },
    ],
  };
  const first = group.members[0]!.id;

  beforeEach(() => {
    daemon.on("GET /approval-groups", [group]);
    daemon.on(
      "GET /approvals",
      group.members.map((m) => member(m.id)),
    );
    for (const m of group.members) daemon.on(`GET /approvals/${m.id}`, member(m.id));
    daemon.on("POST /approval-answers", []);
  });

  const approve = () => screen.getByRole("button", { name: /Approve all/ }) as HTMLButtonElement;

  it("are one in the list, all of them named", async () => {
    open("/approvals");
    const list = await screen.findByRole("list", { name: "Questions of this group" });
    expect(list.textContent).toBe("change src/a.tschange src/b.tschange src/c/d.ts");
    expect(screen.getAllByRole("link", { name: /^Review/ })).toHaveLength(1);
    await expectAccessible();
  });

  it("are answered together, by the ids and bindings that were seen", async () => {
    open(`/approvals?group=${first}`);
    await screen.findByRole("button", { name: "Approve all 3" });
    expect(approve().disabled).toBe(true);
    await expectAccessible();
    await pass(armAfter + 50);
    fireEvent.click(approve());
    const answers = () => daemon.sent.filter((s) => s.path === "/approval-answers");
    await waitFor(() => expect(answers()).toHaveLength(1));
    expect(answers()[0]!.body).toEqual({
      approve: true,
      members: group.members.map(({ id, binding }) => ({ id, binding })),
    });
  });

  it("show who joins, and disarm", async () => {
    open(`/approvals?group=${first}`);
    await screen.findByRole("button", { name: "Approve all 3" });
    await pass(armAfter + 50);
    daemon.on("GET /approval-groups", [four]);
    daemon.on("GET /approvals", [
      ...group.members.map((m) => member(m.id)),
      { ...member(first), id: "r4", binding: "sha256:4444" },
    ]);
    act(() => daemon.event({ seq: 9100, kind: "approval", id: "r4" }));
    await screen.findByRole("button", { name: "Approve all 4" });
    expect(approve().disabled).toBe(true);
    const rows = screen.getByRole("group", { name: "Questions of this group" });
    expect(rows.textContent).toMatch(/z\.ts.*new$/);
    expect(screen.getByText("Something changed since you opened this; look again.")).toBeTruthy();
  });

  it("keep in its place who no longer waits, and leave it out of the answer", async () => {
    open(`/approvals?group=${first}`);
    await screen.findByRole("button", { name: "Approve all 3" });
    daemon.on("GET /approval-groups", [{ ...group, id: "q3", members: group.members.slice(1) }]);
    daemon.on(
      "GET /approvals",
      group.members.slice(1).map((m) => member(m.id)),
    );
    act(() => daemon.event({ seq: 9100, kind: "approval", id: first }));
    await screen.findByRole("button", { name: "Approve all 2" });
    expect(screen.getByText("no longer waits")).toBeTruthy();
    await pass(armAfter + 50);
    fireEvent.click(approve());
    await waitFor(() => expect(daemon.sent.some((s) => s.path === "/approval-answers")).toBe(true));
    const answer = daemon.sent.find((s) => s.path === "/approval-answers")!.body as { members: { id: string }[] };
    expect(answer.members.map((m) => m.id)).toEqual(group.members.slice(1).map((m) => m.id));
  });

  it("show each of them whole", async () => {
    open(`/approvals?group=${first}`);
    fireEvent.click(await screen.findByRole("button", { name: /change src\/b\.ts/ }));
    expect(await screen.findByText("content")).toBeTruthy();
  });
});

it("tells afterwards of questions that nobody answered, until they were seen", async () => {
  daemon.on("GET /expired-approvals", [{ ...fixtures.approvals[1], state: "expired" }]);
  open("/approvals");
  const told = await screen.findByRole("region", { name: "1 question ended without an answer" });
  expect(told.textContent).toContain("push 3 commits");
  await expectAccessible();
  daemon.on("GET /expired-approvals", []);
  fireEvent.click(screen.getByRole("button", { name: "I have seen this" }));
  await waitFor(() => expect(screen.queryByText("1 question ended without an answer")).toBeNull());
  expect(daemon.sent.find((s) => s.method === "POST")!.body).toEqual({ ids: [fixtures.approvals[1]!.id] });
});
