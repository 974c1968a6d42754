/** Parts: what the parts of one grouped step cost, each measured alone; among them the hash chain and the facts. */

import type { AnyMachineSnapshot } from "xstate";
import { checkEvent } from "../../src/actor/input.ts";
import { makeEntry, NO_HASH } from "../../src/actor/journal.ts";
import { type Registration, register } from "../../src/actor/registration.ts";
import { checkAgainst } from "../../src/actor/schema.ts";
import { scope } from "../../src/actor/scope.ts";
import { dehydrate, type EngineEvent, start, take } from "../../src/actor/transition.ts";
import type { Bench, Section } from "../bench.ts";
import { eventAt } from "../machine/event.ts";
import { enclose } from "../machine/run.ts";
import { silentStep, step } from "../machine/step.ts";
import { type Contestant, interleave, median, timed } from "../measure.ts";

export const parts: Section = {
  name: "parts",
  about: "where the time of one grouped step goes",
  async run(bench: Bench): Promise<void> {
    const calls = bench.scale.parts;
    const loud = register(step);
    const silent = register(silentStep);
    const contestants = [
      part("xstate", calls, bare(loud)),
      part("take", calls, taking(loud)),
      part("take_without_facts", calls, taking(silent)),
      part("check_event", calls, (index) => checkEvent(loud, eventAt(index), "outside")),
      part("check_fact", calls, checkingFacts(loud)),
      part("hashing", calls, hashing),
      part("json", calls, writing(loud)),
    ];
    const results = await interleave(contestants, bench.scale.concurrentTurns);
    const us = (name: string) => median(results.get(name) ?? []);
    const { figures } = bench;
    for (const name of ["xstate", "hashing", "json"]) figures.sampled(`parts.${name}_us`, "µs", results.get(name) ?? []);
    const validation = us("check_event") + us("take") - us("xstate");
    figures.counted("parts.validation_us", "µs", validation, "event, context and fact: checkEvent and take, without XState's part");
    const statements = perStep(bench, "raw.grouped_step_full_per_s");
    const whole = perStep(bench, "engine.actors_1000_full_per_s");
    if (statements !== undefined && whole !== undefined) {
      figures.counted("parts.statements_us", "µs", statements);
      const known = us("xstate") + validation + us("hashing") + us("json") + statements;
      figures.counted("parts.rest_us", "µs", whole - known, "drafts, answers, promises, garbage");
      figures.counted("parts.whole_us", "µs", whole);
    }
    figures.counted("parts.fact_check_us", "µs", us("check_fact"), "within validation");
    figures.counted("parts.fact_us", "µs", us("take") - us("take_without_facts"), "all that one fact adds to a transition");
    figures.counted("parts.hash_chain_us", "µs", us("hashing"), "all that the hash chain adds to a step's time");
  },
};

/** Microseconds per call. */
function part(name: string, calls: number, call: (index: number) => unknown): Contestant {
  return {
    name,
    turn: () => {
      const ms = timed(() => {
        for (let index = 0; index < calls; index++) call(index);
      });
      return (ms * 1000) / calls;
    },
  };
}

function perStep(bench: Bench, name: string): number | undefined {
  const rate = bench.figures.value(name);
  return rate === undefined ? undefined : 1_000_000 / rate;
}

function first(registration: Registration): AnyMachineSnapshot {
  return start(registration, {}, { at: 0, seq: 1, id: "step/a:1" }, enclose).snapshot;
}

/** XState alone, in the engine's inert scope. */
function bare(registration: Registration): (index: number) => void {
  let snapshot = first(registration);
  return (index) => {
    scope.reset();
    const stamp = { at: index, seq: index + 2, id: `step/a:${index + 2}` };
    snapshot = registration.machine.transition(snapshot, { ...eventAt(index), stamp } as never, scope as never) as AnyMachineSnapshot;
  };
}

function taking(registration: Registration): (index: number) => void {
  let snapshot = first(registration);
  return (index) => {
    const stamp = { at: index, seq: index + 2, id: `step/a:${index + 2}` };
    snapshot = take(registration, snapshot, eventAt(index) as unknown as EngineEvent, stamp, enclose).snapshot;
  };
}

function checkingFacts(registration: Registration): (index: number) => unknown {
  const schema = registration.schemas.facts["step.taken"];
  return (count) => schema && checkAgainst(schema, { count });
}

function hashing(index: number): unknown {
  const content = {
    atMs: 1_767_225_600_000 + index,
    version: "1",
    cause: '{"kind":"outside"}',
    event: EVENT_TEXTS[index % EVENT_TEXTS.length] as string,
    facts: `[{"type":"step.taken","count":${index}}]`,
    actions: "[]",
  };
  return makeEntry(HASH, "step/actor-0", index + 2, content as never);
}

const HASH = makeEntry(NO_HASH, "step/actor-0", 1, { atMs: 0, version: "1", cause: "", event: "", facts: "", actions: "" } as never).hash;
const EVENT_TEXTS = Array.from({ length: 100 }, (_, index) => JSON.stringify(eventAt(index)));

/** The texts of one step: snapshot, event, cause, facts and requests. */
function writing(registration: Registration): (index: number) => unknown {
  const { snapshot } = take(registration, first(registration), eventAt(0) as unknown as EngineEvent, { at: 0, seq: 2, id: "" }, enclose);
  return (count) => [
    dehydrate(registration, snapshot),
    JSON.stringify(eventAt(count)),
    JSON.stringify({ kind: "outside" }),
    JSON.stringify([{ type: "step.taken", count }]),
    JSON.stringify([]),
  ];
}
