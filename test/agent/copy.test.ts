import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inflated } from "../../src/actor/journal.ts";
import { sha256 } from "../../src/actor/json.ts";
import type { JournalRow } from "../../src/actor/store.ts";
import { transcript } from "../../src/agent/transcript.ts";
import { type CopyOptions, fakeBackend, type TranscriptEntry } from "../../src/index.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { talk, talker } from "./conversation.ts";
import { codeOf, collect, Gate, World } from "./world.ts";

const HOUR_MS = 3_600_000;
const ends = (text: string) => ({ report: { text, next: "end", stopReason: "end_turn" } }) as const;

async function talked(options: ConstructorParameters<typeof World>[1] = {}) {
  const heard: TranscriptEntry[][] = [];
  const asked = new Gate();
  const world = await World.open(talker(heard, asked), options);
  await talk(world, asked);
  return { world, heard };
}

const said = (world: World, session: string) => [...transcript(world.reader, world.context(`session/${session}`).lastRunId)];
/** A session's runs, in the order of their creation. */
const runsOf = (world: World, session: string) =>
  world.actors("run").flatMap(({ id, address }) => (world.context(address).sessionId === session ? [id] : []));
/** What a transcript says, whatever its calls, questions and runs are called. */
const anonymous = (entries: readonly TranscriptEntry[]) =>
  entries.map(({ fact }) => ({ ...fact, callId: undefined, interactionId: undefined, of: undefined }));
/** All rows but those of sessions and runs that a copy made. */
const rowsOf = (world: World, addresses: readonly string[]) =>
  JSON.stringify(
    addresses.map((address) => [{ ...world.reader.actor(address), epoch: 0 }, world.rows(address), world.reader.identities(address)]),
  );

describe("a copied conversation", () => {
  it("says the same in the same order, each turn as one run that states where it comes from, and leaves its source as it was", async () => {
    const { world } = await talked();
    const before = world.actors().map(({ address }) => address);
    const source = rowsOf(world, before);
    const copy = await world.holdfast.copySession("session-1");
    expect(rowsOf(world, before)).toBe(source);
    expect(anonymous(said(world, copy.id))).toEqual(anonymous(said(world, "session-1")));
    const [one, two, three] = runsOf(world, copy.id) as [string, string, string];
    expect(runsOf(world, copy.id)).toHaveLength(3);
    const last = world.context("session/session-1").lastRunId;
    expect([one, two, three].map((id) => world.context(`run/${id}`).source)).toEqual([
      { kind: "copy", sessionId: "session-1", turnId: "turn-1", runIds: ["run-1", "run-2"] },
      { kind: "copy", sessionId: "session-1", turnId: "turn-2", runIds: ["run-3"] },
      { kind: "copy", sessionId: "session-1", turnId: world.context(`run/${last}`).turnId, runIds: [last] },
    ]);
    expect([one, two, three].map((id) => world.state(`run/${id}`))).toEqual(["copied", "copied", "copied"]);
    expect(world.context(`run/${one}`)).toMatchObject({ origin: { kind: "goal", goalId: "goal-1" }, outcome: { stopReason: "end_turn" } });
    expect(world.context(`run/${two}`).outcome).toEqual(world.context("run/run-3").outcome);
    expect(copy.getSnapshot().context).toMatchObject({ name: "Talk", copiedFrom: "session-1", turns: 3, turn: null, lastRunId: three });
    expect(new Set([one, two, three, ...before].map((id) => id)).size).toBe(3 + before.length);
    expect(world.holdfast.verify().faults).toEqual([]);
  });

  it("names its own runs wherever a fact names one, and keeps calls apart that two runs of a turn called alike", async () => {
    const { world } = await talked();
    const copy = await world.holdfast.copySession("session-1");
    const [one, two, three] = runsOf(world, copy.id) as [string, string, string];
    const facts = said(world, copy.id).map(({ runId, fact }) => {
      if (fact.type === "message.added") return [runId, fact.role, fact.text];
      if (fact.type === "permission.decided") return [runId, fact.interactionId, fact.allow, fact.note];
      return [runId, fact.type, fact.callId, ...(fact.type === "tool.reconciled" ? [fact.of, fact.by, fact.outcome] : [])];
    });
    expect(facts).toEqual([
      [one, "user", "Note them"],
      [one, "tool.called", "1.1"],
      [one, "tool.settled", "1.1"],
      [one, "assistant", "one"],
      [one, "tool.called", "2/1.1"],
      [one, "tool.settled", "2/1.1"],
      [one, "assistant", "two"],
      [one, `${one}.2/leave`, false, "Not yet"],
      [one, "assistant", "I stay"],
      [two, "user", "And now?"],
      [two, "tool.called", "1.1"],
      [two, "assistant", "stuck"],
      [two, "tool.unknown", "1.1"],
      [three, "tool.reconciled", "1.1", two, "person", { ok: true, result: "moved" }],
      [three, "assistant", "on"],
    ]);
    // Where it comes from is all that still names the source.
    const texts = [copy.id, ...runsOf(world, copy.id)].flatMap((id) => JSON.stringify(said(world, copy.id)).split(id));
    expect(texts.join("")).not.toMatch(/run-\d|turn-\d|session-1/);
  });

  it("goes on with all of it, and none of its copied runs can be resumed", async () => {
    const { world, heard } = await talked();
    const copy = await world.holdfast.copySession("session-1");
    const whole = said(world, copy.id);
    await (await copy.send("Go on")).end();
    expect(heard).toHaveLength(1);
    expect(heard[0]?.slice(0, -1)).toEqual(whole);
    expect(heard[0]?.at(-1)?.fact).toEqual({ type: "message.added", role: "user", text: "Go on" });
    for (const run of runsOf(world, copy.id).slice(0, 3)) {
      const check = await world.holdfast.checkContinuation(run);
      expect(check).toMatchObject({ decision: "park", reasons: [{ code: "nothing_to_resume" }] });
    }
    expect(world.context("session/session-1").turns).toBe(3);
    expect(world.holdfast.verify().faults).toEqual([]);
  });

  it("ends with the turn that is named, and a copy of a copy says the same", async () => {
    const { world } = await talked();
    const copy = await world.holdfast.copySession("session-1", { through: "turn-2", name: "Another way" });
    expect(copy.getSnapshot().context).toMatchObject({ name: "Another way", turns: 2 });
    expect(anonymous(said(world, copy.id))).toEqual(anonymous(said(world, "session-1").slice(0, -2)));
    await (await copy.send("Go on")).end();
    const again = await world.holdfast.copySession(copy.id);
    expect(anonymous(said(world, again.id))).toEqual(anonymous(said(world, copy.id)));
    const calls = (id: string) => said(world, id).flatMap(({ fact }) => ("callId" in fact ? [fact.callId] : []));
    expect(calls(again.id)).toEqual(calls(copy.id));
    expect(world.context(`run/${runsOf(world, again.id)[0]}`).source).toMatchObject({
      sessionId: copy.id,
      runIds: [runsOf(world, copy.id)[0]],
    });
    expect(world.holdfast.verify().faults).toEqual([]);
  });

  it("outlives its source: blobs of its tools stay when the source was archived and forgotten, also over a new start", async () => {
    const clock = simulatedClock();
    const { world } = await talked({ clock });
    const copy = await world.holdfast.copySession("session-1");
    const before = JSON.stringify(said(world, copy.id));
    await world.holdfast.session("session-1").archive();
    clock.advance(3 * HOUR_MS);
    const gone = await world.holdfast.retain({ finalMs: 0, blobsMs: HOUR_MS });
    expect(gone.actors).toBeGreaterThan(4);
    expect(await codeOf(() => world.holdfast.session("session-1"))).toBe("session_not_found");
    await world.reopen();
    expect(JSON.stringify(said(world, copy.id))).toBe(before);
    for (const text of ["first", "second"]) expect(Buffer.from(world.reader.blob(sha256(text)) ?? []).toString()).toBe(text);
    expect(world.holdfast.verify().faults).toEqual([]);
    world.tamper("DELETE FROM blobs WHERE digest = ?", sha256("second"));
    expect(world.holdfast.verify().faults).toMatchObject([{ code: "row_missing", actor: `run/${runsOf(world, copy.id)[0]}` }]);
  });

  it("is the same one where it is made again under its id, and another one is refused", async () => {
    const { world } = await talked();
    const make = (options: CopyOptions) => world.holdfast.copySession("session-1", { id: "copy-1", ...options });
    await make({});
    const dump = world.dump();
    await make({});
    expect(world.dump()).toBe(dump);
    for (const options of [{ through: "turn-1" }, { name: "Another" }]) expect(await codeOf(() => make(options))).toBe("actor_exists");
    expect(world.dump()).toBe(dump);
    await (await world.holdfast.session("session-1").send("More", { turnId: "turn-4" })).end();
    expect(await codeOf(() => make({}))).toBe("actor_exists");
  });

  it("may be larger than an entry's columns hold, and is then a blob of each", async () => {
    const text = "x".repeat(50_000);
    const world = await World.open(fakeBackend({ script: ends(text) }));
    await (await world.begin()).end();
    await (await world.holdfast.session("session-1").send(text)).end();
    const copy = await world.holdfast.copySession("session-1");
    const row = world.rows(`session/${copy.id}`)[0] as JournalRow;
    expect(row.event).toMatch(/^\{"\$blob":/);
    expect(inflated(world.reader, row).event.length).toBeGreaterThan(150_000);
    expect(anonymous(said(world, copy.id))).toEqual(anonymous(said(world, "session-1")));
    await world.reopen();
    expect(world.holdfast.verify().faults).toEqual([]);
  });
});

describe("a crash while a conversation is copied", () => {
  it.each([
    ["commit.before", 0],
    ["commit.inside", 0],
    ["commit.after", 4],
  ])("at %s leaves all of the copy or nothing of it", async (point, made) => {
    const { world } = await talked();
    await world.holdfast.close();
    const before = world.actors().map(({ address }) => address);
    const source = rowsOf(world, before);
    const child = spawn(process.execPath, [join(import.meta.dirname, "copy.child.ts"), world.root, point], { stdio: "inherit" });
    expect(await once(child, "close")).toEqual([null, "SIGKILL"]);
    await world.open();
    expect(world.actors()).toHaveLength(before.length + made);
    expect(rowsOf(world, before)).toBe(source);
    expect(world.holdfast.verify().faults).toEqual([]);
    // Whoever does not know whether it was made makes it again.
    await world.holdfast.copySession("session-1", { id: "copy-1" });
    expect(world.actors()).toHaveLength(before.length + 4);
    await collect((await world.holdfast.session("copy-1").send("Go on")).events());
  });

  it("a store that fails in the middle of the commit leaves nothing", async () => {
    const { world } = await talked();
    const dump = world.dump();
    world.probe = (point, { entries = [] }) => {
      if (point === "commit.inside" && entries.some(({ facts }) => facts.includes("turn.copied"))) throw new Error("disk full");
    };
    expect(await codeOf(() => world.holdfast.copySession("session-1"))).toBe("storage_failed");
    expect(world.dump()).toBe(dump);
  });
});
