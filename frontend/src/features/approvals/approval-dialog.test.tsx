import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { expectAccessible } from "@/test/axe";
import { fixtures, many, Refusal, type FakeDaemon } from "@/test/daemon";
import { open } from "@/test/open";
import { armAfter } from "@/lib/use-armed";

const write = fixtures.approval;
const push = fixtures.approvals[1]!;

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
const answers = () => daemon.sent.filter((s) => s.method === "POST" && s.path.startsWith("/approvals/"));
const deny = () => screen.getByRole("button", { name: "Deny" });
const approve = () => screen.getByRole("button", { name: "Approve" });

async function review(id: string) {
  open(`/approvals?review=${id}`);
  await screen.findByRole("button", { name: "Deny" });
}

/** withdrawn is what the daemon says of a request whose client went away. */
const withdrawn = (a: typeof write) => ({ ...a, state: "withdrawn", answered: "2026-11-29T14:03:00Z" });

describe("the approval dialog", () => {
  it("tells who wants what, what changes, why, what came before, what it reaches, then asks", async () => {
    await review(write.id);
    const dialog = screen.getByRole("dialog");
    const order = [
      "claude-code wants to change one file",
      "src/auth/session.ts",
      "through files (write_file)",
      "It stays in the agent's workspace until you apply it.",
      "What changes",
      "const lifetime = s.remember",
      "Why asked",
      "default rule 3 (writes ask)",
      "Before",
      "14 writes by files this week",
      "Reaches",
      "no host, no secret",
      "Only this call",
      "Deny",
      "Approve",
    ];
    const text = dialog.textContent;
    let at = 0;
    for (const part of order) {
      const found = text.indexOf(part, at);
      expect(found, `“${part}” after what came before it`).toBeGreaterThanOrEqual(at);
      at = found;
    }
    await expectAccessible();
  });

  it("shows the answers to the server's own question that are sent along", async () => {
    const input = { inputResponses: { who: { action: "accept", content: { name: "Ada" } } }, requestState: "s1" };
    daemon.on(`GET /approvals/${write.id}`, { ...write, call: { ...write.call, input } });
    await review(write.id);
    const text = screen.getByRole("dialog").textContent;
    expect(text).toContain("Answers to what the server asked");
    expect(text).toContain("Ada");
    expect(text).toContain("s1");
  });

  it("rests the focus on Deny and arms after a moment, not before", async () => {
    await review(write.id);
    expect(document.activeElement).toBe(deny());
    expect((approve() as HTMLButtonElement).disabled).toBe(true);
    fireEvent.click(approve());
    fireEvent.click(deny());
    fireEvent.keyDown(document.body, { key: "d" });
    expect(answers()).toEqual([]);
    await pass(armAfter + 50);
    expect((approve() as HTMLButtonElement).disabled).toBe(false);
    expect(document.activeElement).toBe(deny());
  });

  it("sends the binding of what was shown, then closes", async () => {
    daemon.on(`POST /approvals/${write.id}`, { ...write, state: "approved", by: "page" });
    await review(write.id);
    await pass(armAfter + 50);
    fireEvent.click(approve());
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(answers().map((s) => [s.path, s.body])).toEqual([
      [`/approvals/${write.id}`, { approve: true, binding: write.binding }],
    ]);
  });

  it("denies by D, once armed", async () => {
    daemon.on(`POST /approvals/${write.id}`, { ...write, state: "denied", by: "page" });
    await review(write.id);
    await pass(armAfter + 50);
    fireEvent.keyDown(document.body, { key: "d", repeat: true });
    expect(answers()).toEqual([]);
    fireEvent.keyDown(document.body, { key: "d" });
    await waitFor(() => expect(answers().map((s) => s.body)).toEqual([{ approve: false, binding: write.binding }]));
  });

  it("arms anew when something changes, and takes the focus back from Approve", async () => {
    await review(write.id);
    await pass(armAfter + 50);
    approve().focus();
    daemon.on(`GET /approvals/${write.id}`, { ...write, before: "15 writes by files this week" });
    act(() => daemon.event({ seq: 9100, kind: "approval", id: write.id }));
    await screen.findByText("15 writes by files this week");
    expect((approve() as HTMLButtonElement).disabled).toBe(true);
    expect(document.activeElement).toBe(deny());
    expect(screen.getByText("Something changed since you opened this; look again.")).toBeTruthy();
    await pass(armAfter + 50);
    expect((approve() as HTMLButtonElement).disabled).toBe(false);
  });

  it("arms anew when the person comes back from another window", async () => {
    await review(write.id);
    await pass(armAfter + 50);
    act(() => void window.dispatchEvent(new Event("focus")));
    expect((approve() as HTMLButtonElement).disabled).toBe(true);
  });

  it("says that a request was withdrawn under the eyes, and keeps everything in its place", async () => {
    await review(write.id);
    await pass(armAfter + 50);
    const before = screen.getByRole("dialog").querySelectorAll("button").length;
    daemon.on(`GET /approvals/${write.id}`, withdrawn(write));
    daemon.on("GET /approvals", [push]);
    act(() => daemon.event({ seq: 9100, kind: "approval", id: write.id }));
    await screen.findByText(/Withdrawn: the client cancelled/);
    expect(screen.getByRole("dialog").querySelectorAll("button").length).toBe(before);
    expect(screen.getByRole("heading", { name: "claude-code wants to change one file" })).toBeTruthy();
    await pass(armAfter + 50);
    fireEvent.click(approve());
    fireEvent.click(deny());
    expect(answers()).toEqual([]);
  });

  it("says why an answer was not taken", async () => {
    daemon.on(
      `POST /approvals/${write.id}`,
      new Refusal(409, { status: 409, code: "conflict", title: "It has changed meanwhile", detail: "the arguments differ" }),
    );
    await review(write.id);
    await pass(armAfter + 50);
    fireEvent.click(approve());
    expect((await screen.findByRole("alert")).textContent).toContain("It has changed meanwhile: the arguments differ");
  });

  it("shows the arguments at once where there is no diff, and in one click where there is", async () => {
    await review(write.id);
    expect(screen.queryByText("/home/ana/shop/src/auth/session.ts")).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "All arguments" }));
    expect(screen.getByText("/home/ana/shop/src/auth/session.ts")).toBeTruthy();
  });

  it("shows the arguments of a push", async () => {
    await review(push.id);
    expect(within(screen.getByRole("dialog")).getByText("origin")).toBeTruthy();
    expect(within(screen.getByRole("dialog")).getByText("main")).toBeTruthy();
  });
});

describe("hostile text", () => {
  it("is text, with what cannot be seen as marks and what is long folded with its length", async () => {
    await review(fixtures.hostile.id);
    const dialog = screen.getByRole("dialog");
    expect(dialog.querySelector("script")).toBeNull();
    expect(dialog.textContent).toContain("</pre><script>alert(1)</script>");
    expect(dialog.textContent).not.toContain("\u202e");
    expect(within(dialog).getAllByTitle("U+202E RIGHT-TO-LEFT OVERRIDE").length).toBeGreaterThan(0);
    expect(within(dialog).getByTitle("U+001B ESCAPE")).toBeTruthy();
    expect(dialog.textContent).toContain("Mixes look-alike letters");
    expect(dialog.textContent).toContain("from the agent · 3,600 characters");
    const blob = fixtures.hostile.call.arguments.blob;
    expect(dialog.textContent).not.toContain(blob);
    fireEvent.click(within(dialog).getByRole("button", { name: "Show all 3,600 characters" }));
    expect(dialog.textContent).toContain(blob);
    await expectAccessible();
  });
});
