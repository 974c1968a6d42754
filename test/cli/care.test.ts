import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { fakeBackend, openHoldfast } from "../../src/index.ts";
import { faultPoints } from "../../src/testing/index.ts";
import { committed } from "../actor/held.ts";
import { put, temporaryFolder } from "../backend/survey/folder.ts";
import { type Ended, holdfast, holdfastProcess } from "./command.ts";
import { ORDER_FILE, openShop, shop } from "./shop.ts";

const EFFECT = "order/order-exhausted:2:1";
const MACHINES = ["--machines", ORDER_FILE];

function act(root: string, ...args: string[]): Promise<Ended> {
  return holdfast([...args, "--root", root, "--json"]);
}

/** In a process of its own. */
function actApart(root: string, ...args: string[]): Promise<Ended> {
  return holdfastProcess([...args, "--root", root, "--json"]);
}

describe("holdfast retry", () => {
  it("opens an exhausted effect again, runs nothing, and says who will", async () => {
    const root = await shop();
    const retried = await holdfastProcess(["retry", "order-exhausted", ...MACHINES, "--root", root]);
    expect(retried).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("it was exhausted") });
    expect(retried.stdout).toContain("charge waits for the next owner with the handler");
    expect((await act(root, "ls", "effects")).json.items).toMatchObject([{ key: EFFECT, state: "open", error: null }]);
    // The next owner has the handler: it is declined again.
    const points = faultPoints();
    const engine = await openShop(root, points);
    await committed(points, () => engine.effects({ state: "exhausted" }).length === 1);
    await engine.close();
    expect((await act(root, "retry", EFFECT, ...MACHINES)).json).toMatchObject({
      effect: EFFECT,
      state: "open",
      was: { state: "exhausted", error: { message: "the bank said no" } },
    });
    expect(await act(root, "retry", EFFECT, ...MACHINES)).toMatchObject({ code: 2, json: { error: { code: "effect_at_work" } } });
  });

  it("refuses what is not there, what this program has no machine for, and a root that somebody owns, naming the owner", async () => {
    const root = await shop();
    expect(await act(root, "retry", "order/nothing:1:0", ...MACHINES)).toMatchObject({ code: 2, json: { error: { code: "effect_gone" } } });
    expect(await act(root, "retry", EFFECT)).toMatchObject({ code: 2, json: { error: { code: "machine_unknown" } } });
    const short = await holdfast(["retry", "2:1", ...MACHINES, "--root", root]);
    expect(short).toMatchObject({ code: 2, stderr: expect.stringContaining("too short: give at least 4 characters") });
    expect(short.stderr).toContain("`holdfast ls effects` lists the keys");
    await using _ = await openShop(root);
    const [document, text] = await Promise.all([
      actApart(root, "retry", EFFECT, ...MACHINES),
      holdfastProcess(["release", "order-aside", "--root", root]),
    ]);
    expect(document).toMatchObject({ code: 2, json: { error: { code: "root_owned", details: { pid: process.pid } } } });
    expect(text).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(new RegExp(`process ${process.pid} \\([^)]+\\)`)) });
  });
});

describe("holdfast resolve", () => {
  it("settles an effect with a result: its machine goes on, and what it asks for waits for the next owner", async () => {
    const root = await shop();
    expect((await actApart(root, "resolve", EFFECT, ...MACHINES, "--output", '"receipt-1"')).json).toEqual({
      effect: EFFECT,
      name: "charge",
      outcome: "done",
      was: "charging",
      actor: "order/order-exhausted",
      state: "paid",
      final: false,
      entries: 3,
      opened: [{ key: "order/order-exhausted:3:0", name: "label" }],
    });
    expect((await act(root, "ls", "effects")).json.items).toMatchObject([{ name: "label", state: "open" }]);
  });

  it.each([
    { what: "a result that does not fit", options: ["--output", "17"], code: "effect_result_invalid" },
    { what: "a failure for which the machine has no event", options: ["--error", "declined:no"], code: "effect_result_invalid" },
    { what: "text that is not JSON", options: ["--output", "receipt"], code: "argument_invalid" },
    { what: "a code that is none", options: ["--error", "No!"], code: "argument_invalid" },
    { what: "neither", options: [], code: "argument_invalid" },
    { what: "both", options: ["--output", "1", "--error", "x"], code: "argument_invalid" },
  ])("refuses $what, and changes nothing", async ({ options, code }) => {
    const root = await shop();
    expect(await act(root, "resolve", EFFECT, ...MACHINES, ...options)).toMatchObject({ code: 2, json: { error: { code } } });
    expect((await act(root, "ls", "effects")).json.items).toMatchObject([{ key: EFFECT, state: "exhausted" }]);
  });

  it("fails with exit 1 where the machine cannot take the outcome, and changes nothing", async () => {
    const root = await shop();
    expect(await act(root, "resolve", EFFECT, ...MACHINES, "--output", '""')).toMatchObject({
      code: 1,
      json: { error: { code: "machine_threw", message: expect.stringContaining("a receipt has a number") } },
    });
    expect((await act(root, "ls", "effects")).json.items).toMatchObject([{ key: EFFECT, state: "exhausted" }]);
  });
});

describe("holdfast release", () => {
  it("refuses while the fault is there, with exit 1; with --discard leaves out what cannot be taken", async () => {
    const root = await shop();
    expect(await act(root, "release", "order-aside", ...MACHINES)).toMatchObject({ code: 1, json: { error: { code: "machine_threw" } } });
    const released = await holdfast(["release", "order-aside", "--discard", ...MACHINES, "--root", root]);
    expect(released.stdout).toContain("2 dead letters waited for it: 0 delivered, 2 left and listed.");
    expect((await act(root, "show", "order-aside")).json).toMatchObject({ quarantine: null, state: "open" });
    expect(await act(root, "release", "order-aside", ...MACHINES)).toMatchObject({
      code: 2,
      json: { error: { code: "actor_not_quarantined" } },
    });
  });

  it("delivers the dead letters once the machine was mended, whatever each of them waited for", async () => {
    const root = await shop();
    const db = new Database(join(root, "holdfast.db"));
    db.exec("UPDATE dead_letters SET reason = 'machine_version_unknown' WHERE position = 1");
    db.close();
    expect((await act(root, "ls", "quarantined")).json.items).toMatchObject([{ address: "order/order-aside", waiting: 2 }]);
    const folder = temporaryFolder();
    const source = readFileSync(ORDER_FILE, "utf8");
    const here = pathToFileURL(ORDER_FILE);
    const mended = source
      .replace('event.type === "order.noted" && event.strange', "false")
      .replaceAll(/from "(\.[^"]+)"/g, (_, path) => `from "${new URL(path, here).href}"`)
      .replaceAll(/from "(xstate|zod)"/g, (_, name) => `from "${import.meta.resolve(name)}"`);
    put(folder, "mended.ts", mended);
    expect((await actApart(root, "release", "order-aside", "--machines", join(folder, "mended.ts"))).json).toMatchObject({
      actor: "order/order-aside",
      was: "event_poisoned",
      delivered: 2,
      left: 0,
      entries: 3,
    });
    expect((await act(root, "ls", "dead-letters")).json.items).toHaveLength(1);
  });
});

describe("holdfast retain", () => {
  it("forgets what is older, says how much went, and keeps the rest verifiable", async () => {
    const root = await shop();
    expect((await act(root, "retain", "--final", "1d", "--dead-letters", "1 week", "--keys", "1d 12h", "--blobs", "1h")).json).toEqual({
      actors: 0,
      keys: 0,
      deadLetters: 0,
      blobs: 0,
    });
    expect((await act(root, "retain", "--final", "0s", "--state", "shipped")).json).toMatchObject({ actors: 0 });
    const forgotten = await holdfastProcess(["retain", "--final", "0s", "--machine", "order", "--dead-letters", "0s", "--root", root]);
    // Those for whom a release will deliver them stay.
    expect(forgotten.stdout).toBe("Forgotten: 1 final actor, 1 dead letter.\n");
    expect((await act(root, "show", "order/order-ended")).json.error.code).toBe("actor_not_found");
    await using engine = await openShop(root);
    expect(engine.verify().faults.filter(({ code }) => code !== "delivery_ignored")).toEqual([]);
  });

  it("forgets of conversations archived sessions only, each as a whole", async () => {
    const root = join(temporaryFolder(), "root");
    {
      const backends = { assistant: fakeBackend({ script: { report: { next: "end", stopReason: "end_turn" } } }) };
      await using runtime = await openHoldfast({ root, backends });
      for (const id of ["live", "over"]) {
        const session = await runtime.createSession({ backend: "assistant", id });
        await (await session.send("Hello", { runId: `run-of-${id}` })).end();
      }
      await runtime.session("over").archive();
    }
    expect((await act(root, "retain", "--final", "0s")).json).toMatchObject({ actors: 2 });
    expect((await act(root, "ls", "actors")).json.items.map((item: any) => item.address)).toEqual(["session/live", "run/run-of-live"]);
    expect((await act(root, "verify")).code).toBe(0);
  });

  it.each([
    { args: [], says: /^say what may go/ },
    { args: ["--machine", "order"], says: "--final AGE" },
    { args: ["--final", "1d", "--machine", "run"], says: "goes with its session" },
    { args: ["--final", "30"], says: "Expected a duration" },
    { args: ["--final", "soon"], says: "Expected a duration" },
    { args: ["--final", "1 fortnight"], says: "Expected a duration" },
    { args: ["--blobs", "5min"], says: "1 hour or more" },
  ])("refuses $args", async ({ args, says }) => {
    expect(await act(temporaryFolder(), "retain", ...args)).toMatchObject({
      code: 2,
      json: { error: { code: "argument_invalid", message: expect.stringMatching(says) } },
    });
  });
});

describe("holdfast backup and adopt", () => {
  it("copy a root while it is owned, make a root of the copy, and say what it is", async () => {
    const root = await shop();
    const folder = temporaryFolder();
    const file = join(folder, "monday.db");
    const engine = await openShop(root);
    const written = await actApart(root, "backup", file);
    await engine.close();
    expect(written).toMatchObject({ code: 0, json: { file, rootId: expect.any(String), bytes: expect.any(Number) } });
    expect(await act(root, "backup", file)).toMatchObject({ code: 2, json: { error: { code: "file_exists" } } });
    expect(await act(root, "backup", join(folder, "no", "file"))).toMatchObject({ code: 2, json: { error: { code: "argument_invalid" } } });
    const restored = join(folder, "restored");
    expect(await actApart(restored, "adopt", "--copied", "--from", file)).toMatchObject({
      code: 0,
      json: { root: restored, as: "copied", rootId: expect.not.stringMatching(written.json.rootId) },
    });
    expect((await act(restored, "ls", "actors")).json.items).toHaveLength(4);
    expect(await act(restored, "adopt", "--moved", "--from", file)).toMatchObject({ code: 2, json: { error: { code: "root_invalid" } } });
    const none = await act(join(folder, "none"), "adopt", "--moved", "--from", join(folder, "none.db"));
    expect(none).toMatchObject({ code: 2, json: { error: { code: "argument_invalid", details: { path: "--from" } } } });
    expect(existsSync(join(folder, "none"))).toBe(false);
  });

  it("ask which it is where a directory was copied, and do not guess", async () => {
    const root = await shop();
    const copy = join(temporaryFolder(), "copy");
    cpSync(root, copy, { recursive: true });
    chmodSync(copy, 0o700);
    expect(await act(copy, "retain", "--final", "1d")).toMatchObject({ code: 2, json: { error: { code: "root_moved" } } });
    for (const options of [[], ["--moved", "--copied"]])
      expect(await act(copy, "adopt", ...options)).toMatchObject({
        code: 2,
        json: { error: { code: "argument_invalid", message: expect.stringContaining(`--moved (${root} is used no longer)`) } },
      });
    const adopted = await act(copy, "adopt", "--copied");
    expect(adopted).toMatchObject({ code: 0, json: { root: copy, as: "copied" } });
    expect(adopted.json.rootId).not.toBe(adopted.json.was);
    expect((await act(copy, "retain", "--final", "1d")).code).toBe(0);
    expect((await act(root, "retain", "--final", "1d")).code).toBe(0);
  });
});

describe("holdfast upgrade-check", () => {
  /** Files and their content; not the index of the WAL, where SQLite notes who reads, nor a WAL that is empty. */
  function contentOf(root: string): Record<string, string> {
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => !name.endsWith("-shm"));
    const read = files.map((name) => [name, readFileSync(join(root, name))] as const).filter(([, bytes]) => bytes.length > 0);
    return Object.fromEntries(read.map(([name, bytes]) => [name, createHash("sha256").update(bytes).digest("hex")]));
  }

  it("reports same, migratable, quarantined and blocked with code and reason, exits 1 where one is blocked, and writes nothing", async () => {
    const root = await shop();
    const before = contentOf(root);
    const folder = temporaryFolder();
    const versions = (version: string, migrations: string) =>
      `import { orderOf } from ${JSON.stringify(pathToFileURL(ORDER_FILE).href)};\nexport const order = orderOf("${version}", ${migrations});\n`;
    put(folder, "two.ts", versions("2", `{ "1": { to: "2", migrate: (stored: any) => stored } }`));
    put(folder, "three.ts", versions("3", "{}"));
    const check = (...options: string[]) => actApart(root, "upgrade-check", ...options);

    expect(await check(...MACHINES)).toMatchObject({
      code: 0,
      json: { ok: true, totals: { same: 2, migratable: 0, quarantined: 1, blocked: 0 } },
    });
    const two = await check("--machines", join(folder, "two.ts"));
    expect(two).toMatchObject({
      code: 0,
      json: { machines: [{ id: "order", version: "2" }], totals: { same: 0, migratable: 2, quarantined: 1, blocked: 0 } },
    });
    expect(two.json.actors).toEqual([
      { actor: "order/order-exhausted", from: "1", to: "2", verdict: "migratable", code: null, reason: null, path: null },
      expect.objectContaining({ actor: "order/order-aside", verdict: "quarantined", code: "actor_quarantined" }),
      expect.objectContaining({ actor: "order/order-open", verdict: "migratable" }),
    ]);
    const three = await holdfastProcess(["upgrade-check", "--machines", join(folder, "three.ts"), "--root", root]);
    expect(three.code).toBe(1);
    expect(three.stdout).toContain("machine_version_unknown: no migration leads from version 1 to 3");
    expect(three.stdout).toContain("release it before the deploy or after");
    expect(three.stdout).toContain("3 unfinished: 0 same, 0 migratable, 2 blocked, 1 quarantined");
    // This program has no such machine.
    expect((await check()).json.actors[0]).toMatchObject({ code: "machine_unknown", to: null });
    expect(contentOf(root)).toEqual(before);
  });

  it("exits 0 where nothing is unfinished or blocked, and refuses a file without machines", async () => {
    const root = await shop();
    await act(root, "release", "order-aside", "--discard", ...MACHINES);
    expect(await holdfast(["upgrade-check", ...MACHINES, "--root", root])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("3 same, 0 migratable, 0 blocked"),
    });
    expect(await act(root, "upgrade-check", "--machines", join(root, "holdfast.json"))).toMatchObject({ code: 2 });
    expect(await act(root, "upgrade-check", "--machines", "nothing.ts")).toMatchObject({
      code: 2,
      json: { error: { code: "argument_invalid" } },
    });
  });
});
