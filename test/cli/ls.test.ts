import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { openActors } from "../../src/actors.ts";
import { LISTS } from "../../src/cli/result.ts";
import { folder, temporaryFolder } from "../backend/survey/folder.ts";
import { holdfast, holdfastProcess, owner, PROJECT } from "./command.ts";
import { order } from "./order.ts";
import { ORDER_FILE, openShop, shop } from "./shop.ts";

const EFFECT = "order/order-exhausted:2:1";

const DAY_MS = 86_400_000;

/** A machine that sleeps for two days of owned time. */
function napOf() {
  const schemas = { input: z.object({}), context: z.object({}), events: {}, facts: {}, delays: { sleep: "remaining" as const } };
  return setup({ schemas, delays: { sleep: 2 * DAY_MS } }).createMachine({
    id: "nap",
    version: "1",
    context: {},
    initial: "asleep",
    states: { asleep: { after: { sleep: "awake" } }, awake: { type: "final" } },
  });
}

describe("holdfast ls", () => {
  it("lists effects with their last error and the commands that help, and invents no attempts", async () => {
    const root = await shop();
    const { code, json } = await holdfastProcess(["ls", "effects", "--root", root, "--json"]);
    expect(code).toBe(0);
    expect(json).toEqual({
      list: "effects",
      items: [
        {
          key: EFFECT,
          actor: "order/order-exhausted",
          name: "charge",
          state: "exhausted",
          opened: expect.stringMatching(/^\d{4}-.*Z$/),
          error: { code: "effect_failed", message: "the bank said no" },
          helps: [`holdfast retry ${EFFECT}`, `holdfast resolve ${EFFECT}`],
        },
      ],
      next: null,
    });
    const shown = (await holdfast(["ls", "effects", "--root", root])).stdout;
    expect(shown).toContain(EFFECT);
    expect(shown).toContain("effect_failed: the bank said no");
    expect(shown).toContain("holdfast retry EFFECT");
  });

  it("lists timers with their due time in words and in ISO", async () => {
    const root = await shop();
    const { json } = await holdfast(["ls", "timers", "--root", root, "--json"]);
    expect(json.items).toMatchObject([
      { actor: "order/order-aside", delay: "patience", policy: "absolute", state: "armed", delayMs: 3 * 86_400_000 },
      { actor: "order/order-open", due: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
    expect((await holdfast(["ls", "timers", "--root", root])).stdout).toMatch(
      /order\/order-open +in 3 days +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +armed +after patience/,
    );
  });

  it("tells of a timer that counts owned time only what is left of it, while nobody owns the root, and no date", async () => {
    const root = join(temporaryFolder(), "root");
    const nap = napOf();
    const engine = await openActors({ root, machines: [nap] });
    await engine.create(nap, "a", { input: {} });
    const list = () => holdfastProcess(["ls", "timers", "--root", root, "--json"]);
    expect((await list()).json.items).toMatchObject([{ policy: "remaining", due: expect.stringMatching(/Z$/), leftMs: null }]);
    await engine.close();
    const [{ due, leftMs }] = (await list()).json.items;
    expect(due).toBeNull();
    expect(leftMs).toBeGreaterThan(DAY_MS);
    expect(leftMs).toBeLessThanOrEqual(2 * DAY_MS);
    expect((await holdfast(["ls", "timers", "--root", root])).stdout).toMatch(/nap\/a +in 2 days of owned time +armed/);
  });

  it("says nothing of ways out where no effect needs one", async () => {
    const root = await shop();
    await using engine = await openShop(root);
    await engine.resolve(EFFECT, { output: "receipt-1" });
    const open = (await holdfastProcess(["ls", "effects", "--root", root])).stdout;
    expect(open).not.toContain("holdfast retry");
  });

  it("lists dead letters with sender and reason, and no payload", async () => {
    const root = await shop();
    const { json, stdout } = await holdfast(["ls", "dead-letters", "--root", root, "--json"]);
    expect(json.items.map(({ receiver, reason }: Record<string, string>) => [receiver, reason])).toEqual([
      ["order/order-aside", "actor_quarantined"],
      ["order/order-aside", "actor_quarantined"],
      ["order/nobody", "actor_not_found"],
    ]);
    expect(json.items[0]).toMatchObject({ sender: "order/order-open", entry: 2, event: "order.noted" });
    expect(stdout).not.toContain("strange");
    expect((await holdfast(["ls", "dead-letters", "--root", root, "--state", "actor_not_found", "--json"])).json.items).toHaveLength(1);
  });

  it("lists what was set aside, why, what waits for it, and the way out", async () => {
    const root = await shop();
    const { json } = await holdfast(["ls", "quarantined", "--root", root, "--json"]);
    expect(json.items).toMatchObject([
      {
        address: "order/order-aside",
        quarantine: { code: "event_poisoned", message: expect.stringContaining("strange notes") },
        waiting: 2,
        helps: ["holdfast release order/order-aside"],
      },
    ]);
    const shown = (await holdfast(["ls", "quarantined", "--root", root])).stdout;
    expect(shown).toContain("2 dead letters wait for it");
    expect(shown).toContain("holdfast release ACTOR");
  });

  it("lists actors of any machine, by state and in pages", async () => {
    const root = await shop();
    const list = async (...options: string[]) => (await holdfast(["ls", "actors", "--root", root, "--json", ...options])).json;
    expect((await list()).items.map(({ address }: { address: string }) => address)).toEqual(
      ["exhausted", "aside", "open", "ended"].map((name) => `order/order-${name}`),
    );
    expect((await list("--state", "open")).items.map(({ id }: { id: string }) => id)).toEqual(["order-aside", "order-open"]);
    const first = await list("--state", "open", "--limit", "1");
    expect(first).toMatchObject({ items: [{ id: "order-aside" }], next: expect.any(Number) });
    expect(await list("--state", "open", "--limit", "1", "--after", `${first.next}`)).toMatchObject({
      items: [{ id: "order-open" }],
      next: null,
    });
  });

  it("says in words that there is nothing, of every kind", async () => {
    const root = `${temporaryFolder()}/root`;
    await (await owner(root)).close();
    const all = await Promise.all(LISTS.map((what) => holdfast(["ls", what, "--root", root])));
    for (const listed of all) expect(listed).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^No [a-z ]+\.\n$/) });
    expect((await holdfast(["ls", "runs", "--root", root, "--state", "failed"])).stdout).toBe("No runs: failed.\n");
  });

  it("refuses a state that effects or timers never have, naming those that they have", async () => {
    const root = await shop();
    expect(await holdfast(["ls", "effects", "--root", root, "--state", "lost", "--json"])).toMatchObject({
      code: 2,
      json: { error: { code: "argument_invalid", message: expect.stringContaining("exhausted, unknown") } },
    });
  });
});

describe("holdfast show", () => {
  it("tells of an actor of any machine its effects, timers, dead letters, and why it was set aside, with the way out", async () => {
    const root = await shop();
    const aside = await holdfastProcess(["show", "order-aside", "--root", root, "--json"]);
    expect(aside.json).toMatchObject({
      address: "order/order-aside",
      machine: "order",
      state: "open",
      quarantine: { code: "event_poisoned", helps: ["holdfast release order/order-aside"] },
      timers: [{ delay: "patience" }],
      deadLetters: [{ reason: "actor_quarantined" }, { reason: "actor_quarantined" }],
    });
    const shown = (await holdfast(["show", "order/order-aside", "--root", root])).stdout;
    expect(shown).toContain(`release order/order-aside --machines FILE --root ${root}`);
    expect((await holdfast(["show", "order-exhausted", "--root", root])).stdout).toContain("retry, resolve");
  });
});

describe("what is damaged or strange", () => {
  it("is a time: the row is listed with it, and hides no other", async () => {
    const root = await shop();
    const db = new Database(join(root, "holdfast.db"));
    db.exec(`
      UPDATE timers SET due_ms = 9000000000000000 WHERE actor = 'order/order-open';
      UPDATE actors SET updated_ms = -9000000000000000 WHERE address = 'order/order-exhausted';
      UPDATE effects SET opened_ms = 9000000000000000;
      UPDATE dead_letters SET at_ms = -9000000000000000 WHERE position = 1`);
    db.close();
    const items = async (what: string) => (await holdfast(["ls", what, "--root", root, "--json"])).json.items;
    expect(await items("timers")).toMatchObject([{ due: expect.stringMatching(/Z$/) }, { due: "damaged: 9000000000000000" }]);
    expect((await items("actors")).map((item: any) => item.updated.slice(0, 10))).toContain("damaged: -");
    expect(await items("effects")).toMatchObject([{ opened: "damaged: 9000000000000000" }]);
    expect((await items("dead-letters"))[0]).toMatchObject({ at: "damaged: -9000000000000000" });
    for (const args of [
      ["ls", "timers"],
      ["show", "order-exhausted"],
      ["ls", "effects"],
    ])
      expect(await holdfast([...args, "--root", root])).toMatchObject({ code: 0, stderr: "" });
  });

  it("is an id or a state: commands to be copied are quoted, and nothing disturbs the terminal", async () => {
    const root = join(temporaryFolder(), "root");
    const ids = ["x; touch p #", "turned\u202e\u2028id"];
    {
      await using engine = await openShop(root);
      for (const id of ids) await engine.create(order, id, { input: { total: 5 } });
      const sender = await engine.create(order, "sender", { input: { total: 5 } });
      for (const id of ids) await sender.send({ type: "order.note", to: `order/${id}` });
    }
    const { json } = await holdfast(["ls", "quarantined", "--root", root, "--json"]);
    expect(json.items.map(({ helps }: any) => helps)).toEqual([
      ["holdfast release 'order/x; touch p #'"],
      ["holdfast release $'order/turned\\u202e\\u2028id'"],
    ]);
    expect((await holdfast(["ls", "quarantined", "--root", root])).stdout).toContain("1 dead letter waits for it");
    const shown = await holdfast(["show", `order/${ids[0]}`, "--root", root, "--json"]);
    expect(shown.json.quarantine.helps).toEqual(["holdfast release 'order/x; touch p #'"]);
    const db = new Database(join(root, "holdfast.db"));
    db.prepare("UPDATE actors SET state = ? WHERE address = ?").run("open\u001b[31m", `order/${ids[1]}`);
    db.prepare("UPDATE actors SET hash = ? WHERE address = ?").run("none", `order/${ids[1]}`);
    db.close();
    const texts = await Promise.all(
      [["show", `order/${ids[1]}`], ["verify"], ["ls", "actors"]].map((args) => holdfast([...args, "--root", root])),
    );
    for (const { stdout } of texts) {
      expect(stdout).toContain("turned\\u{202e}\\u{2028}id");
      expect(["\u202e", "\u2028", "\u001b"].filter((char) => stdout.includes(char))).toEqual([]);
    }
    expect(texts[0]?.stdout).toContain("open\\u{1b}[31m");
  });

  it("is a state: release, retry and resolve print it harmless", async () => {
    const root = await shop();
    const db = new Database(join(root, "holdfast.db"));
    db.prepare("UPDATE actors SET state = ? WHERE address = ?").run("charging\u001b[31m", "order/order-exhausted");
    db.prepare(`UPDATE actors SET quarantine = json_set(quarantine, '$.code', ?) WHERE address = ?`).run(
      "odd\u001b[31m",
      "order/order-aside",
    );
    db.close();
    const options = ["--machines", ORDER_FILE, "--root", root];
    const resolved = await holdfast(["resolve", EFFECT, "--output", '"r"', ...options]);
    expect(resolved).toMatchObject({ code: 0, stdout: expect.stringContaining("charging\\u{1b}[31m → paid") });
    const released = await holdfast(["release", "order-aside", "--discard", ...options]);
    expect(released).toMatchObject({ code: 0, stdout: expect.stringContaining("it was set aside as odd\\u{1b}[31m") });
  });
});

describe("an id", () => {
  it("may be given by its beginning or its end, and as it is printed short", async () => {
    const root = `${temporaryFolder()}/root`;
    const opened = await owner(root);
    const run = await (await opened.createSession({ backend: "survey", cwd: folder(PROJECT) })).send("Survey it.");
    await run.end();
    await opened.close();
    for (const given of [
      run.id.slice(0, 30),
      `run/${run.id.slice(0, 9)}`,
      run.id.slice(-8),
      `…${run.id.slice(-8)}`,
      `run/…${run.id.slice(-8)}`,
    ]) {
      const shown = await holdfast(["show", given, "--root", root, "--json"]);
      // The session was minted in the same minute: its id may begin alike.
      if (shown.json.error) expect(shown.json.error.code).toBe("ambiguous");
      else expect(shown.json.address).toBe(`run/${run.id}`);
    }
    expect((await holdfast(["resume", run.id.slice(-8), "--root", root, "--json"])).json.error.code).toBe("nothing_to_resume");
    expect((await holdfast(["stop", run.id.slice(0, 9), "--root", root, "--json"])).json.error.code).toBe("run_not_active");
    expect((await holdfast(["receipt", run.id.slice(-8), "--root", root, "--json"])).json.error.code).toBe("receipt_unavailable");
  });

  it("that may mean several is refused as ambiguous, with what it may mean; a whole one never is", async () => {
    const root = await shop();
    const refused = await holdfast(["show", "order-e", "--root", root, "--json"]);
    expect(refused).toMatchObject({
      code: 2,
      json: { error: { code: "ambiguous", details: { candidates: ["order/order-exhausted", "order/order-ended"] } } },
    });
    expect((await holdfast(["show", "order-open", "--root", root, "--json"])).json.address).toBe("order/order-open");
    expect((await holdfast(["show", "ope", "--root", root, "--json"])).json.error).toMatchObject({
      code: "actor_not_found",
      message: expect.stringContaining("too short: give at least 4 characters"),
    });
  });
});
