import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { armAfter } from "@/lib/use-armed";
import { expectAccessible } from "@/test/axe";
import { fixtures, many, Refusal, type FakeDaemon } from "@/test/daemon";
import { open } from "@/test/open";

let daemon: FakeDaemon;
const { update } = fixtures;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  daemon = many().install();
  daemon.on("POST /servers/everything/update", update);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
const look = async () => {
  open("/servers?server=everything&tab=update");
  fireEvent.click(await screen.findByRole("button", { name: "Look for a newer version" }));
};

describe("a newer version", () => {
  it("is shown as a difference of versions, scripts, tools and packages", async () => {
    await look();
    const tools = await screen.findByRole("list", { name: "2 tools differ" });
    expect(within(tools).getAllByRole("listitem")[0]!.textContent).toContain("addreads → writes");
    expect(tools.textContent).toContain("it tells the agent when to call it");
    expect(screen.getByText("4 packages differ")).toBeTruthy();
    expect(screen.getByText(/undici@7.12.0 does not run/)).toBeTruthy();
    await expectAccessible();
  });

  it("is accepted as it was shown, once that has stood for a moment", async () => {
    daemon.on("POST /servers/everything/update/accept", update);
    await look();
    const accept = (await screen.findByRole("button", { name: "Accept this version" })) as HTMLButtonElement;
    expect(accept.disabled).toBe(true);
    await pass(armAfter + 50);
    fireEvent.click(accept);
    expect(await screen.findByText(`It runs from ${update.to} now.`)).toBeTruthy();
    expect(daemon.sent.filter((s) => s.path.endsWith("/accept")).map((s) => s.body)).toEqual([{ binding: update.binding }]);
    expect(screen.queryByRole("list", { name: "2 tools differ" })).toBeNull();
  });

  it("is left where it is", async () => {
    await look();
    fireEvent.click(await screen.findByRole("button", { name: "Leave it" }));
    await waitFor(() => expect(screen.queryByRole("button", { name: "Accept this version" })).toBeNull());
  });

  it("may not be there", async () => {
    daemon.on("POST /servers/everything/update", {
      ...update,
      binding: undefined,
      to: update.from,
      packages: [],
      scripts: [],
      tools: [],
    });
    await look();
    expect(await screen.findByText(`${update.from} is the newest that is allowed.`)).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Accept this version" })).toBeNull();
  });

  it("that is another one by now is looked at again", async () => {
    daemon.on(
      "POST /servers/everything/update/accept",
      new Refusal(422, { ...fixtures.problem, title: "This is not what was shown last" }),
    );
    await look();
    const accept = await screen.findByRole("button", { name: "Accept this version" });
    await pass(armAfter + 50);
    fireEvent.click(accept);
    expect((await screen.findByRole("alert")).textContent).toContain("This is not what was shown last");
  });

  it("is not looked for where a server runs from no package", async () => {
    open("/servers?server=reports");
    await screen.findByRole("tab", { name: "Overview" });
    const reports = fixtures.servers.find((s) => s.name === "reports")!;
    expect(screen.queryByRole("tab", { name: "Update" }) !== null).toBe("package" in reports);
  });
});
