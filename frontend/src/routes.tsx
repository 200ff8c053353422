import { createMemoryHistory, createRootRoute, createRoute, createRouter, redirect } from "@tanstack/react-router";
import { ApprovalsPage } from "./features/approvals/page";
import { CallsPage } from "./features/calls/page";
import { DoctorPage } from "./features/doctor/page";
import { HomePage } from "./features/home/page";
import { NetworkPage } from "./features/network/page";
import { ObservePage } from "./features/observe/page";
import { PolicyPage } from "./features/policy/page";
import { RecordPage } from "./features/record/page";
import { SecretsPage } from "./features/secrets/page";
import { ServersPage } from "./features/servers/page";
import { WorkspacesPage } from "./features/workspaces/page";
import { Shell } from "./shell/shell";

// What is chosen and filtered stands in the address, so that it can be kept and gone back to.
function words<K extends string>(...keys: K[]) {
  return (search: Record<string, unknown>): { [P in K]?: string } => {
    const out: { [P in K]?: string } = {};
    for (const key of keys) {
      const value = search[key];
      if (typeof value === "string" && value !== "") out[key] = value;
    }
    return out;
  };
}

const root = createRootRoute({ component: Shell, validateSearch: words("review", "group") });

const routes = [
  createRoute({ getParentRoute: () => root, path: "/", component: HomePage }),
  createRoute({ getParentRoute: () => root, path: "/calls", component: CallsPage, validateSearch: words("q", "show", "call") }),
  createRoute({
    getParentRoute: () => root,
    path: "/approvals",
    component: ApprovalsPage,
    validateSearch: words("tab", "q", "ended"),
  }),
  createRoute({ getParentRoute: () => root, path: "/servers", component: ServersPage, validateSearch: words("server", "tab") }),
  createRoute({ getParentRoute: () => root, path: "/servers/observe", component: ObservePage, validateSearch: words("server") }),
  createRoute({
    getParentRoute: () => root,
    path: "/workspaces",
    component: WorkspacesPage,
    validateSearch: words("workspace", "file"),
  }),
  createRoute({ getParentRoute: () => root, path: "/secrets", component: SecretsPage, validateSearch: words("secret") }),
  createRoute({ getParentRoute: () => root, path: "/network", component: NetworkPage, validateSearch: words("server") }),
  createRoute({
    getParentRoute: () => root,
    path: "/policy",
    component: PolicyPage,
    validateSearch: words("tab", "server", "tool", "agent", "arguments", "call", "since"),
  }),
  createRoute({ getParentRoute: () => root, path: "/record", component: RecordPage }),
  createRoute({ getParentRoute: () => root, path: "/doctor", component: DoctorPage }),
  createRoute({
    getParentRoute: () => root,
    path: "$",
    beforeLoad: () => {
      throw redirect({ to: "/" });
    },
  }),
] as const;

const tree = root.addChildren([...routes]);

/** newRouter makes the router; with a path it starts there without touching the address. */
export function newRouter(path?: string) {
  return createRouter({
    routeTree: tree,
    defaultPendingMs: 0,
    ...(path !== undefined && { history: createMemoryHistory({ initialEntries: [path] }) }),
    // Plain words in the address, not JSON.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const entries = Object.entries(search).filter(([, v]) => typeof v === "string" && v !== "");
      const text = new URLSearchParams(entries as [string, string][]).toString();
      return text && `?${text}`;
    },
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof newRouter>;
  }
}
