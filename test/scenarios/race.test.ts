/** Row 25: many who would continue one sealed turn. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, it } from "vitest";
import type { Store } from "../../src/actor/store.ts";
import { openRuntime } from "../../src/agent/runtime.ts";
import type { Holdfast } from "../../src/index.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { codeOf, collect, World } from "../agent/world.ts";
import { begin, handOff, IDS, takeOver, workBackend } from "./work.ts";

const PROCESSES = 32;

interface Answer {
  readonly value?: unknown;
  readonly code?: string;
  readonly bug?: string;
}

const started = new Set<ChildProcess>();

afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  started.clear();
});

class Contender {
  readonly #child = spawn(process.execPath, [join(import.meta.dirname, "race.child.ts")], { stdio: ["pipe", "pipe", "inherit"] });
  readonly #lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();

  constructor() {
    started.add(this.#child);
  }

  async ask(command: string): Promise<Answer> {
    this.#child.stdin.write(`${command}\n`);
    const line = await this.#lines.next();
    if (line.done) throw new Error("the process ended without an answer");
    const answer = JSON.parse(line.value) as Answer;
    if (answer.bug) throw new Error(answer.bug);
    return answer;
  }
}

async function sealedTurn(): Promise<World> {
  const world = await World.open({} as never);
  world.backends.assistant = workBackend(world.root);
  await begin(world.holdfast, world.root);
  await handOff(world.holdfast);
  await world.holdfast.close();
  return world;
}

const tally = (answers: readonly Answer[]) => {
  const counts: Record<string, number> = {};
  for (const { value, code } of answers) counts[String(value ?? code)] = (counts[String(value ?? code)] ?? 0) + 1;
  return counts;
};

describe("32 processes that race to take over one sealed turn", () => {
  it("make one owner and one successor's dispatch; every other is told why not", async () => {
    const world = await sealedTurn();
    const contenders = Array.from({ length: PROCESSES }, () => new Contender());
    await Promise.all(contenders.map((contender) => contender.ask("ready")));
    const answers = await Promise.all(contenders.map((contender) => contender.ask(`take ${world.root}`)));
    console.log(`while the owner lives: ${JSON.stringify(tally(answers))}`);
    expect(tally(answers)).toEqual({ "took it": 1, root_owned: PROCESSES - 1 });
    const owner = answers.findIndex((answer) => answer.value === "took it");
    expect(await contenders[owner]?.ask("finish")).toEqual({ value: "completed" });
    const later = await Promise.all(
      contenders.filter((_, index) => index !== owner).map((contender) => contender.ask(`take ${world.root}`)),
    );
    console.log(`when it is done: ${JSON.stringify(tally(later))}`);
    // Those that come later race each other for the root, too.
    expect(Object.keys(tally(later)).filter((code) => code !== "root_owned")).toEqual(["continuation_already_exists"]);
    expect(world.count("run.dispatched")).toBe(2);
    expect(world.actors("run").map((row) => `${row.id} ${row.state}`)).toEqual(["original-run sealed", "successor-run completed"]);
    await world.open();
    expect(world.holdfast.verify().faults).toEqual([]);
    expect(await codeOf(() => takeOver(world.holdfast))).toBe("continuation_already_exists");
  }, 120_000);
});

/** A second runtime on the same database under the same epoch, as if the owner lock were not there. */
async function twins(world: World): Promise<[Holdfast, Holdfast]> {
  const file = join(world.root, "holdfast.db");
  const open = async (store: Store) => openRuntime(store, { backends: world.backends, release: () => store.close() });
  const first = await open(openSqliteStore({ file }));
  const store = openSqliteStore({ file });
  const second = new Proxy(store, {
    get(target, name) {
      if (name === "beginEpoch") return () => target.epoch();
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return [first, await open(second)];
}

describe("two runtimes over one store under one epoch", () => {
  it.each([
    ["at once", 0],
    ["one after the other", 1],
  ])("acquire one claim when they resume %s; the other is told of the conflict", async (_, turns) => {
    const world = await sealedTurn();
    const both = await twins(world);
    const checks = await Promise.all(both.map((holdfast) => holdfast.checkContinuation(IDS.runId, { purpose: "handoff" })));
    const results: (string | undefined)[] = [];
    const resume = async (index: number) => {
      const check = checks[index];
      if (check?.decision !== "continue") throw new Error("the turn is not to be continued");
      results[index] = await codeOf(() => collect((both[index] as Holdfast).resume(check.continuation)));
    };
    if (turns) for (const index of [0, 1]) await resume(index);
    else await Promise.all([resume(0), resume(1)]);
    expect(results.filter((code) => code === undefined)).toHaveLength(1);
    expect(results.filter((code) => code === "continuation_claim_conflict")).toHaveLength(1);
    expect(await Promise.all(both.map((holdfast) => holdfast.checkContinuation(IDS.runId, { purpose: "handoff" })))).toMatchObject([
      { decision: "park", reasons: [{ code: "continuation_already_exists" }] },
      { decision: "park", reasons: [{ code: "continuation_already_exists" }] },
    ]);
    expect(world.count("run.dispatched")).toBe(2);
    expect(world.count("message.added", (fact) => fact.role === "assistant")).toBe(1);
    expect(both[0].verify().faults).toEqual([]);
    for (const holdfast of both) await holdfast.close();
  });

  it("continue a failed run's boundary once as well", async () => {
    const world = await World.open({ step: () => Promise.reject(new Error("broken")) });
    await begin(world.holdfast, world.root);
    await world.holdfast.run(IDS.runId).end();
    await world.holdfast.close();
    world.backends.assistant = workBackend(world.root);
    const both = await twins(world);
    const results = await Promise.all(
      both.map(async (holdfast) => {
        const check = await holdfast.checkContinuation(IDS.runId);
        if (check.decision !== "continue") throw new Error("the run is not to be continued");
        return codeOf(() => collect(holdfast.resume(check.continuation)));
      }),
    );
    expect(results.toSorted()).toEqual(["continuation_claim_conflict", undefined]);
    expect(world.actors("run")).toHaveLength(2);
    for (const holdfast of both) await holdfast.close();
  });

  it("are fenced when one begins a new epoch: the other cannot write", async () => {
    const world = await sealedTurn();
    const file = join(world.root, "holdfast.db");
    const open = async (store: Store) => openRuntime(store, { backends: world.backends, release: () => store.close() });
    const old = await open(openSqliteStore({ file }));
    const next = await open(openSqliteStore({ file }));
    expect(await codeOf(() => takeOver(old))).toBe("not_owner");
    await takeOver(next);
    expect(world.count("run.dispatched")).toBe(2);
    for (const holdfast of [old, next]) await holdfast.close();
  });
});
