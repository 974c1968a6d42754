/** Row 25: many who would continue one sealed turn. */

import { join } from "node:path";
import type { Store } from "../../../src/actor/store.ts";
import { openRuntime } from "../../../src/agent/runtime.ts";
import type { Continuation, Holdfast } from "../../../src/index.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { begin, handOff, IDS, takeOver, workBackend } from "../work.ts";
import { codeOf, collect, World } from "../world.ts";
import { type Answer, contenders } from "./contender.ts";
import type { Row } from "./row.ts";

const PROCESSES = 32;

/** A world that `body` has for itself, with a turn that is sealed and a root without an owner. */
async function withSealedTurn<T>(body: (world: World) => Promise<T>): Promise<T> {
  return withWorld(async (world) => {
    await begin(world.holdfast, world.root);
    await handOff(world.holdfast);
    await world.holdfast.close();
    return body(world);
  });
}

async function withWorld<T>(body: (world: World) => Promise<T>): Promise<T> {
  const world = new World({});
  try {
    world.backends.assistant = workBackend(world.root);
    await world.open();
    return await body(world);
  } finally {
    await world.end();
  }
}

const tally = (answers: readonly (string | undefined)[]) => {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[answer ?? "resumed"] = (counts[answer ?? "resumed"] ?? 0) + 1;
  return counts;
};

const wordOf = ({ value, code }: Answer) => String(value ?? code);

const runsOf = (world: World) => world.actors("run").map((row) => `${row.id} ${row.state}`);

/** Several runtimes on the same database under the same epoch, as if the owner lock were not there. */
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

async function continuationOf(holdfast: Holdfast, purpose?: "handoff"): Promise<Continuation> {
  const check = await holdfast.checkContinuation(IDS.runId, purpose ? { purpose } : {});
  if (check.decision !== "continue") throw new Error("the run is not to be continued");
  return check.continuation;
}

/** Both resume one continuation each, at once or one after the other. */
async function resumeBoth(world: World, both: readonly Holdfast[], given: { purpose?: "handoff"; atOnce: boolean }) {
  const continuations = await Promise.all(both.map((holdfast) => continuationOf(holdfast, given.purpose)));
  const resume = (index: number) => codeOf(() => collect((both[index] as Holdfast).resume(continuations[index] as Continuation)));
  const codes = given.atOnce ? await Promise.all([resume(0), resume(1)]) : [await resume(0), await resume(1)];
  const later = await Promise.all(both.map((holdfast) => holdfast.checkContinuation(IDS.runId, given)));
  const seen = {
    resumes: tally(codes),
    later: tally(later.flatMap((check) => (check.decision === "park" ? check.reasons.map(({ code }) => code) : ["continue"]))),
    dispatches: world.count("run.dispatched"),
    reports: world.count("message.added", (fact) => fact.role === "assistant"),
    runs: runsOf(world).length,
    faults: both[0]?.verify().faults.length,
  };
  for (const holdfast of both) await holdfast.close();
  return seen;
}

const oneClaim = { resumes: { resumed: 1, continuation_claim_conflict: 1 }, dispatches: 2, reports: 1, runs: 2, faults: 0 };

/** 32 processes race for the root of a sealed turn, and again when the one that got it has finished. */
async function race(): Promise<Record<string, unknown>> {
  const all = await contenders(PROCESSES);
  return withSealedTurn(async (world) => {
    const ask = (some: typeof all) => Promise.all(some.map((contender) => contender.ask(`take ${world.root}`)));
    const answers = await ask(all);
    const owner = answers.findIndex((answer) => answer.value === "took it");
    const finished = await all[owner]?.ask("finish");
    const later = tally((await ask(all.filter((_, index) => index !== owner))).map(wordOf));
    // Those that come later race each other for the root, too.
    const { root_owned: refused = 0, continuation_already_exists: late = 0, ...others } = later;
    await world.open();
    return {
      "while the owner lives": tally(answers.map(wordOf)),
      finished: finished?.value,
      "when it is done": later,
      toldOfTheSuccessor: late > 0 && refused + late === PROCESSES - 1 && Object.keys(others).length === 0,
      dispatches: world.count("run.dispatched"),
      runs: runsOf(world),
      faults: world.holdfast.verify().faults.length,
      afterwards: await codeOf(() => takeOver(world.holdfast)),
    };
  });
}

export const raceRows: readonly Row[] = [
  {
    row: 25,
    repeats: true,
    decision: "resume_by_many: 32 processes",
    perform: race,
    expected: {
      "while the owner lives": { "took it": 1, root_owned: PROCESSES - 1 },
      finished: "completed",
      toldOfTheSuccessor: true,
      dispatches: 2,
      runs: ["original-run sealed", "successor-run completed"],
      faults: 0,
      afterwards: "continuation_already_exists",
    },
  },
  ...[true, false].map((atOnce) => ({
    row: 25,
    repeats: true as const,
    decision: `resume_by_many: two runtimes under one epoch, ${atOnce ? "at once" : "one after the other"}`,
    perform: () => withSealedTurn(async (world) => resumeBoth(world, await twins(world), { purpose: "handoff", atOnce })),
    expected: { ...oneClaim, later: { continuation_already_exists: 2 } },
  })),
  {
    row: 25,
    repeats: true,
    decision: "resume_by_many: two runtimes and the boundary of a failed run",
    perform: () =>
      withWorld(async (world) => {
        world.backends.assistant = { step: () => Promise.reject(new Error("broken")) };
        await world.reopen();
        await begin(world.holdfast, world.root);
        await world.holdfast.run(IDS.runId).end();
        await world.holdfast.close();
        world.backends.assistant = workBackend(world.root);
        return resumeBoth(world, await twins(world), { atOnce: true });
      }),
    expected: oneClaim,
  },
  {
    row: 25,
    decision: "resume_by_many: two runtimes, and the later one began an epoch",
    perform: () =>
      withSealedTurn(async (world) => {
        const file = join(world.root, "holdfast.db");
        const open = async (store: Store) => openRuntime(store, { backends: world.backends, release: () => store.close() });
        const both = [await open(openSqliteStore({ file })), await open(openSqliteStore({ file }))] as const;
        const codes = [await codeOf(() => takeOver(both[0])), await codeOf(() => takeOver(both[1]))];
        const dispatches = world.count("run.dispatched");
        for (const holdfast of both) await holdfast.close();
        return { earlier: codes[0], later: codes[1] ?? "resumed", dispatches };
      }),
    expected: { earlier: "not_owner", later: "resumed", dispatches: 2 },
  },
];
