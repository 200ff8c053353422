import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { expectAccessible } from "@/test/axe";
import { fixtures, many, Refusal, type FakeDaemon } from "@/test/daemon";
import { open } from "@/test/open";

let daemon: FakeDaemon;

beforeEach(() => {
  daemon = many().install();
});

afterEach(() => vi.unstubAllGlobals());

describe("permissions", () => {
  it("are in words, with how long, how often and when last they were used, the newest first", async () => {
    open("/approvals?tab=permissions");
    const list = await screen.findByRole("list", { name: "Permissions" });
    const items = within(list).getAllByRole("listitem");
    expect(items).toHaveLength(2);
    expect(items[1]!.textContent).toContain("claude-code may, without asking: files may change files of its workspace");
    expect(items[1]!.textContent).toContain("never used");
    expect(items[0]!.textContent).toContain("This session");
    expect(items[0]!.textContent).toContain("used 11 times");
  });

  it("are filtered by the address, and with those that ended", async () => {
    open("/approvals?tab=permissions&ended=yes&q=shell");
    const list = await screen.findByRole("list", { name: "Permissions" });
    await waitFor(() => expect(within(list).getAllByRole("listitem")).toHaveLength(1));
    expect(list.textContent).toContain("commands like git status");
    expect(within(list).queryByRole("button")).toBeNull();
    fireEvent.change(screen.getByRole("searchbox"), { target: { value: "nothing such" } });
    expect(await screen.findByText("Of the 3 permissions none matches the filter.")).toBeTruthy();
    expect(location.search).toContain("q=nothing+such");
  });

  it("are taken back after a word of confirmation, on which the focus does not rest", async () => {
    const id = fixtures.grants[0]!.id;
    daemon.on(`DELETE /grants/${id}`, null);
    open("/approvals?tab=permissions");
    fireEvent.click(await screen.findByRole("button", { name: /^Take back: write_file/ }));
    const dialog = screen.getByRole("dialog");
    expect(document.activeElement).toBe(within(dialog).getByRole("button", { name: "Keep" }));
    await expectAccessible();
    daemon.on("GET /grants", []);
    fireEvent.click(within(dialog).getByRole("button", { name: "Take back" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(daemon.sent.filter((s) => s.method === "DELETE").map((s) => s.path)).toEqual([`/grants/${id}`]);
    expect(await screen.findByText("You have permitted nothing beyond single calls")).toBeTruthy();
  });

  it("say why they could not be taken back", async () => {
    daemon.on(`DELETE /grants/${fixtures.grants[0]!.id}`, new Refusal(403, { ...fixtures.problem, title: "The agent cannot" }));
    open("/approvals?tab=permissions");
    fireEvent.click(await screen.findByRole("button", { name: /^Take back: write_file/ }));
    fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Take back" }));
    expect((await screen.findByRole("alert")).textContent).toContain("The agent cannot");
  });
});
