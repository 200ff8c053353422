// Takes the pictures of docs/screenshots from the built page and the fake daemon.
//
//   node dev/screenshots.mjs [--out DIR] [--all | --dialogs] [--only NAME,…] [--axe]
//
// --all takes every page in every scene, to judge the look; --dialogs the questions about twenty real
// calls that docs/approvals.md shows; --axe has axe look at each, colours included; without, only what the README shows.
import { mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { dialogs, start } from "./fake-daemon.mjs";

const has = (name) => process.argv.includes(name);
const out = has("--out")
  ? process.argv[process.argv.indexOf("--out") + 1]
  : fileURLToPath(new URL("../../docs/screenshots", import.meta.url));
mkdirSync(out, { recursive: true });

const shots = [
  { name: "calls", path: "/calls" },
  { name: "approvals", path: "/calls", review: 0 },
  { name: "servers", path: "/servers?server=files" },
  { name: "network", path: "/network?server=git", scene: "wall", height: 1080 },
  { name: "observe", path: "/servers/observe?server=git", scene: "watched", height: 1240 },
  { name: "secrets", path: "/secrets" },
];
const more = [
  { name: "home", path: "/" },
  { name: "call", path: "/calls", call: 9 },
  { name: "approvals-page", path: "/approvals" },
  { name: "approval-push", path: "/approvals", review: 1 },
  { name: "servers-list", path: "/servers" },
  { name: "log", path: "/servers?server=files&tab=log" },
  { name: "pins", path: "/servers?server=files&tab=pins" },
  { name: "update", path: "/servers?server=everything&tab=update", press: "Look for a newer version", height: 900 },
  { name: "group", path: "/approvals", scene: "group" },
  { name: "group-review", path: "/approvals?group=r0e3cc730d9c08262b256b2ba943e34c0", scene: "group" },
  { name: "approval-tool", path: "/approvals", review: 0, scene: "tool" },
  { name: "approval-session", path: "/approvals", review: 0, choose: "This session" },
  { name: "permissions", path: "/approvals?tab=permissions&ended=yes" },
  { name: "policy", path: "/policy" },
  { name: "project", path: "/policy", press: "See what it changes" },
  { name: "explain", path: "/policy?tab=explain&server=files&tool=write_file" },
  { name: "replay", path: "/policy?tab=replay", press: "Try it" },
  { name: "policy-es", path: "/policy", locale: "es" },
  { name: "approval-es", path: "/approvals", review: 0, locale: "es" },
  { name: "empty-permissions", path: "/approvals?tab=permissions", scene: "empty" },
  { name: "empty-policy", path: "/policy", scene: "empty" },
  { name: "compact-group", path: "/", scene: "group", width: 420, height: 560 },
  { name: "workspaces", path: "/workspaces" },
  { name: "observe-begin", path: "/servers/observe?server=git" },
  { name: "observe-none", path: "/servers/observe" },
  { name: "observe-watching", path: "/servers/observe?server=git", scene: "watching" },
  { name: "observe-small", path: "/servers/observe?server=git", scene: "watching", width: 390, height: 844 },
  { name: "observe-proposal", path: "/servers/observe?server=git", scene: "watched", height: 1500 },
  { name: "observe-proposal-small", path: "/servers/observe?server=git", scene: "watched", width: 390, height: 1500 },
  { name: "observe-accept", path: "/servers/observe?server=git", scene: "watched", press: "Give it just this" },
  { name: "observe-es", path: "/servers/observe?server=git", scene: "watched", locale: "es", height: 1500 },
  { name: "observe-begin-es", path: "/servers/observe?server=git", locale: "es" },
  { name: "menu", path: "/network", press: "Pages", width: 390, height: 844 },
  { name: "network-all", path: "/network" },
  { name: "network-one", path: "/network?server=git" },
  { name: "approval-network", path: "/network", scene: "wall", review: 0 },
  { name: "network-narrow", path: "/network", width: 820 },
  { name: "network-small", path: "/network", width: 390, height: 844 },
  { name: "network-allow", path: "/network?server=git", press: "Allow: collector.telemetry.example:443" },
  { name: "network-add", path: "/network?server=git", press: "Allow a host: git" },
  { name: "network-es", path: "/network?server=git", locale: "es" },
  { name: "empty-network", path: "/network", scene: "empty" },
  { name: "hostile-network", path: "/network", scene: "hostile" },
  { name: "secret", path: "/secrets?secret=github-token" },
  { name: "secrets-narrow", path: "/secrets", width: 820 },
  { name: "secrets-small", path: "/secrets", width: 390, height: 844 },
  { name: "secrets-es", path: "/secrets?secret=github-token", locale: "es" },
  { name: "secret-set", path: "/secrets", press: "Set a secret" },
  { name: "secret-grant", path: "/secrets?secret=github-token", press: "Grant to a server", height: 900 },
  { name: "secret-revoke", path: "/secrets", press: "Revoke: orders-db, sqlite" },
  { name: "secret-rotate", path: "/secrets?secret=github-token", press: "Rotate" },
  { name: "secrets-unkept", path: "/secrets", scene: "unkept", press: "Use an encrypted file" },
  { name: "secrets-locked", path: "/secrets", scene: "locked" },
  { name: "secrets-asking", path: "/secrets", scene: "asking" },
  { name: "empty-secrets", path: "/secrets", scene: "empty" },
  { name: "record", path: "/record", press: "Verify" },
  { name: "doctor", path: "/doctor" },
  { name: "search", path: "/calls", keys: "Control+k" },
  { name: "narrow", path: "/calls", width: 820 },
  { name: "compact", path: "/", width: 420, height: 560 },
  { name: "compact-review", path: "/", review: 0, width: 420, height: 700 },
  { name: "low", path: "/calls", review: 0, width: 900, height: 430 },
  { name: "es", path: "/", locale: "es" },
  { name: "empty-home", path: "/", scene: "empty" },
  { name: "empty-calls", path: "/calls", scene: "empty" },
  { name: "empty-approvals", path: "/approvals", scene: "empty" },
  { name: "broken", path: "/servers", scene: "broken" },
  { name: "hostile", path: "/calls", review: 0, scene: "hostile" },
  { name: "door", path: "/calls", out: true },
];

// What is chosen in some of the twenty, so that what it means is to be seen.
const chosen = { "write-a-file": "Always", command: "Always", "edit-a-file": "Collect", "move-a-file": "This session" };
const twenty = Object.keys(dialogs()).map((name, i) => ({
  name: `approval-${name}`,
  path: "/approvals",
  scene: "dialogs",
  review: i,
  choose: chosen[name],
  dialog: true,
}));

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const only = has("--only") ? process.argv[process.argv.indexOf("--only") + 1].split(",") : undefined;
const problems = [];
for (const shot of has("--dialogs") ? twenty : has("--all") ? [...shots, ...more] : shots) {
  if (only && !only.includes(shot.name)) continue;
  for (const theme of shot.dialog ? ["light"] : ["light", "dark"]) await take(shot, theme);
}
await browser.close();
if (problems.length) {
  console.error(problems.join("\n"));
  process.exit(1);
}

async function take(shot, theme) {
  const daemon = await start({ quiet: true, still: true, scene: shot.scene });
  const context = await browser.newContext({
    viewport: { width: shot.width ?? 1280, height: shot.height ?? 800 },
    colorScheme: theme,
    reducedMotion: "reduce",
    locale: shot.locale ?? "en",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && !/412|favicon/.test(m.text()) && problems.push(`${shot.name}: ${m.text()}`));
  page.on("pageerror", (e) => problems.push(`${shot.name}: ${e}`));
  await page.clock.install({ time: new Date("2026-11-29T14:02:43Z") });
  if (shot.out) await page.goto(daemon.url + shot.path);
  else await page.goto(`${daemon.url}${pathOf(shot, daemon.world)}#t=fake`);
  await page.waitForLoadState("networkidle");
  await page.clock.runFor(1500);
  if (shot.keys) await page.keyboard.press(shot.keys);
  if (shot.press) await page.getByRole("button", { name: shot.press }).click();
  if (shot.choose) await page.getByText(shot.choose, { exact: true }).click();
  await page.clock.runFor(1500);
  await page.waitForTimeout(250);
  if (has("--axe")) await look(page, `${shot.name} ${theme}`);
  const what = shot.dialog ? page.getByRole("dialog") : page;
  await what.screenshot({ path: `${out}/${shot.name}${theme === "dark" ? "-dark" : ""}.png` });
  await context.close();
  daemon.close();
}

/** look finds what those who cannot see or point would miss. */
async function look(page, name) {
  await page.evaluate(readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8"));
  const found = await page.evaluate(() => globalThis.axe.run());
  for (const v of found.violations) problems.push(`${name}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(" ")}`);
}

function pathOf(shot, world) {
  const url = new URL(shot.path, "http://x");
  if (shot.review !== undefined) url.searchParams.set("review", world.approvals[shot.review].id);
  if (shot.call !== undefined) url.searchParams.set("call", world.calls[shot.call].id);
  return url.pathname + url.search;
}
