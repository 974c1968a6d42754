import { describe, expect, it } from "vitest";
import type { Store } from "../../src/actor/store.ts";
import { openRuntime } from "../../src/agent/runtime.ts";
import { fakeBackend, fakeComposition } from "../../src/index.ts";
import { memoryStore } from "../../src/testing/index.ts";
import { Play, SEAL } from "../scenarios/play.ts";
import { begun, ends as done, goesOn, plot, seal } from "./way.ts";
import { codeOf, Gate, World } from "./world.ts";

const ends = fakeBackend({ script: { report: { next: "end", stopReason: "end_turn" } } });

/** A store that counts the rows that its lists and look-ups give. */
function counted(store: Store): { readonly store: Store; readonly rows: () => number } {
  let rows = 0;
  const counting = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result = value.apply(target, args);
        if (Array.isArray(result)) rows += result.length;
        else if (typeof result === "object" && result !== null) rows += 1;
        return result;
      };
    },
  });
  return { store: counting, rows: () => rows };
}

/** Rows that an opening and a recovery read, after so many sessions whose only turn is over. */
async function rowsRead(sessions: number): Promise<number> {
  const store = memoryStore();
  const first = await openRuntime(store, { backends: { assistant: ends } });
  for (let index = 0; index < sessions; index++) {
    const session = await first.createSession({ backend: "assistant" });
    const plan = await session.proposePlan({ title: "work", steps: [{ title: "finish" }] });
    await plan.approve(1);
    await plan.update(plan.state().execution?.executionId ?? "", [{ id: "step-1", status: "completed" }]);
    await (await session.send("Do it")).end();
  }
  await first.close();
  const { store: counting, rows } = counted(store);
  const second = await openRuntime(counting, { backends: { assistant: ends } });
  await second.recover();
  const read = rows();
  await second.close();
  return read;
}

describe("a restart", () => {
  /** A turn that was handed off, whose successor was under way when its process ended: while it prepared, or in a step. */
  async function handedOff(where: "prepare" | "step 1" | "step 2"): Promise<World> {
    const [source, stuck] = [new Gate(), new Gate()];
    const script = plot(
      { "run-1#1": goesOn, "successor-run#1": goesOn, "next-run#1": done() },
      { "run-1#1": source, ...(where === "prepare" ? {} : { [`successor-run#${where.at(-1)}`]: stuck }) },
    );
    const composition = async ({ runId }: { runId: string }) => {
      if (runId === "successor-run" && where === "prepare") await stuck.pass();
      return fakeComposition();
    };
    const world = await World.open(fakeBackend({ script, composition }));
    await seal(await world.begin(), "successor-run", source);
    const open = begun(world, "run-1", { purpose: "handoff" }, "run.opened");
    await stuck.reached;
    await open;
    expect(world.state("run/successor-run")).toBe(where === "prepare" ? "preparing" : "running.stepping");
    await world.reopen();
    return world;
  }

  it.each([
    ["prepare", "interrupted_before_dispatch", "failed"],
    ["step 1", "interrupted", "resumed"],
    ["step 2", "interrupted", "resumed"],
  ] as const)(
    "interrupts a successor at its %s: turn and handoff are over, and the session takes the next",
    async (where, code, handoff) => {
      const world = await handedOff(where);
      expect(world.facts("run/successor-run").at(-1)).toMatchObject({ type: "run.ended", kind: "failed", error: { code } });
      expect(world.actors("handoff").map(({ state }) => state)).toEqual([handoff]);
      expect([world.state("session/session-1"), world.context("session/session-1").lastRunId]).toEqual(["idle", "successor-run"]);
      const next = await world.holdfast.session("session-1").send("And now?", { runId: "next-run" });
      expect(await next.end()).toMatchObject({ kind: "completed" });
      expect(world.holdfast.verify().faults).toEqual([]);
    },
  );
});

describe("recovery", () => {
  it("reads no more where a hundred times as many sessions have finished their turns", async () => {
    expect(await rowsRead(300)).toBe(await rowsRead(3));
  });

  it("sets a damaged source of a sealed turn aside, once, and nobody else", async () => {
    const { world } = await Play.of({ acts: [...SEAL, "change one byte of the source's journal"] });
    await world.reopen();
    expect(world.actors().filter(({ quarantine }) => quarantine)).toMatchObject([
      { address: "run/original-run", quarantine: { code: "journal_damaged" } },
    ]);
    const before = world.dump();
    await world.holdfast.recover();
    expect(world.dump()).toBe(before);
  });

  it("leaves a person the way out of a turn whose source is damaged: to stop it", async () => {
    const { world } = await Play.of({ acts: [...SEAL, "change one byte of the source's journal"] });
    await world.reopen();
    await world.holdfast.run("original-run").stop();
    expect(world.state("session/session-1")).toBe("idle");
  });

  it("sets a source aside whose snapshot is damaged, and its turn can be stopped by run and by session", async () => {
    const { world } = await Play.of({ acts: [...SEAL] });
    await world.holdfast.close();
    world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/original-run'");
    await world.open();
    expect(world.reader.actor("run/original-run")?.quarantine).toMatchObject({ code: "snapshot_damaged" });
    await world.holdfast.session("session-1").stop();
    expect(world.state("session/session-1")).toBe("idle");
    expect(await codeOf(() => world.holdfast.run("original-run").stop())).toBe("run_not_active");
  });

  it.each([
    ["whose snapshot is damaged", "UPDATE actors SET snapshot = '{' WHERE address = ?"],
    ["of a version that nobody knows", "UPDATE actors SET version = '0' WHERE address = ?"],
  ])("opens a root with a sealed handoff %s, and others work", async (_, damage) => {
    const { world } = await Play.of({ acts: [...SEAL] });
    await world.holdfast.close();
    world.tamper(damage, "handoff/handoff-1");
    await world.open();
    await world.holdfast.recover();
    const session = await world.holdfast.createSession({ backend: "assistant", id: "another" });
    expect((await (await session.send("Something else", { runId: "another-run" })).end()).kind).toBe("completed");
  });

  it("reads a sealed turn's source and leaves it as it is", async () => {
    const { world } = await Play.of({ acts: [...SEAL] });
    await world.reopen();
    const before = world.dump();
    await world.holdfast.recover();
    await world.reopen();
    expect(world.dump()).toBe(before);
  });
});
