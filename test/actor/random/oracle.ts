/** Oracle: ACT-1 to ACT-10, each as a check of its own, and that work goes on, over what was seen and what is stored, written without the engine. */

import type { AnyStateMachine } from "xstate";
import type { ActorRow, Page, PlacedJournalRow, StoreReader } from "../../../src/actor/store.ts";
import type { Verified } from "../../../src/actor/verify.ts";
import { ActorModel, type Breach, type Ownership } from "./model.ts";
import type { Answered, Observation } from "./observation.ts";

/** What is judged. */
export interface Evidence {
  readonly seen: readonly Observation[];
  readonly reader: StoreReader;
  readonly machines: readonly AnyStateMachine[];
  readonly nowMs: number;
  verify(): Verified;
}

type Seen<Kind extends Observation["saw"]> = Extract<Observation, { saw: Kind }>;

/** The evidence, read once. */
interface Court {
  readonly evidence: Evidence;
  readonly entries: readonly (PlacedJournalRow & { readonly told: any; readonly by: any })[];
  readonly actors: ReadonlyMap<string, ActorRow>;
  readonly models: readonly ActorModel[];
  readonly answers: readonly Answered[];
  of<Kind extends Observation["saw"]>(kind: Kind): Seen<Kind>[];
}

type Check = (court: Court) => Iterable<string>;

const TURNED_AWAY = new Set([
  "actor_final",
  "not_owner",
  "closed",
  "storage_failed",
  "idempotency_conflict",
  "effect_gone",
  "actor_quarantined",
]);
const FAILED = new Set(["machine_threw", "context_invalid", "fact_invalid", "action_invalid", "cascade_limit", "identity_taken"]);
const IS_RESERVED = /^(xstate|engine|effect)\.|^(work|once|task|sole)\.(done|failed|aborted)$/;

const isTaken = ({ came, repeated }: Answered) => !repeated && (came === "accepted" || came === "ignored");
const told = ({ actor, type, tag, came }: Answered) => `${actor} answered ${came} to ${type} (${tag})`;

/** No handler was called before its request could be read; one that runs at most once was admitted, and was called once. */
const act1: Check = function* ({ evidence, of }) {
  const calls = new Map<string, number>();
  let gen = 0;
  for (const seen of evidence.seen) {
    if (seen.saw === "epoch") gen = seen.gen;
    if (seen.saw !== "call") continue;
    if (!seen.requested) yield `the handler of ${seen.key} was called, and no entry requests it`;
    const isOnce = /^(once|sole)$/.test(seen.name);
    // Who was robbed of the root cannot know that an effect has ended.
    if (seen.gen !== gen) continue;
    if (seen.row !== (isOnce ? "started" : "open")) yield `the handler of ${seen.key} was called while its row was ${seen.row}`;
    if (isOnce) calls.set(seen.key, (calls.get(seen.key) ?? 0) + 1);
  }
  for (const [key, count] of calls)
    if (count > 1 + of("retry").filter((retry) => retry.key === key).length) yield `${key} ran ${count} times, at most once is allowed`;
};

/** Who was robbed of the root is answered `not_owner`, and no entry of an ownership was made by another owner. */
const act2: Check = function* ({ answers, entries, of }) {
  for (const answer of answers) if (answer.fenced && !["not_owner", "closed", "storage_failed"].includes(answer.came)) yield told(answer);
  const epochs = of("epoch");
  for (const { actor, seq, position, told: event } of entries) {
    const gen = event.gen ?? event.output?.gen;
    const owner = epochs.findLast((epoch) => epoch.position < position)?.gen;
    if (gen !== undefined && gen !== owner) yield `entry ${seq} of ${actor} is from owner ${gen}, and ${owner} owned the root`;
  }
};

/** What was accepted is in the journal, once; the same key gives the same answer; an expectation that cannot hold is refused. */
const act3: Check = function* ({ answers, entries, actors, evidence, models }) {
  const count = new Map<string, number>();
  for (const { told: event } of entries) if (event.tag !== undefined) count.set(event.tag, (count.get(event.tag) ?? 0) + 1);
  for (const [tag, times] of count) if (times > 1) yield `the event ${tag} is in the journal ${times} times`;
  const keyed = new Map<string, Answered>();
  for (const answer of answers) {
    if (answer.wrong && isTaken(answer)) yield `${told(answer)} in spite of its expectation`;
    if (answer.came === "accepted" && !evidence.reader.tombstone(answer.actor) && !answer.fenced) {
      const entry = entries.find(({ actor, seq }) => actor === answer.actor && seq === answer.seq);
      if (entry?.told.tag !== answer.tag || entry.told.type !== answer.type)
        yield `${told(answer)}, and entry ${answer.seq} is ${entry?.event}`;
    }
    const { key, fenced, failed, came } = answer;
    if (key === null || fenced || failed || ["not_owner", "actor_not_found"].includes(came)) continue;
    const first = keyed.get(answer.tag);
    if (!first && ["accepted", "ignored"].includes(came)) keyed.set(answer.tag, answer);
    if (!first) continue;
    const isSame =
      first.type === answer.type ? came === first.came && answer.seq === first.seq && answer.repeated : came === "idempotency_conflict";
    if (!isSame) yield `${told(answer)} under a key that was answered ${first.came} for ${first.type}`;
  }
  for (const { actor } of entries) if (!actors.has(actor)) yield `${actor} has a journal and no row`;
  for (const address of actors.keys()) if (!models.some(({ actor }) => actor === address)) yield `${address} has no journal`;
};

/** The engine's own check finds nothing, and each delivery is an entry or a dead letter. (The fold by plain XState is the model's.) */
const act4: Check = function* ({ evidence, models, entries, of }) {
  const damaged = of("damage").map(({ actor }) => actor);
  const broken = models.filter(({ breaches }) => breaches.length > 0).map(({ actor }) => actor);
  for (const { actor, code, message } of evidence.verify().faults)
    if (actor === null ? broken.length === 0 : ![...damaged, ...broken].includes(actor)) yield `verify: ${code} ${message}`;
  const { reader } = evidence;
  const letters = all((page) => reader.deadLetters({}, page));
  for (const { actor, seq, actions } of entries) {
    const deliveries = (JSON.parse(actions) as any[]).filter(({ type }) => type === "deliver");
    for (const to of new Set(deliveries.map((request) => request.to as string))) {
      if (reader.tombstone(to) || broken.includes(to) || broken.includes(actor)) continue;
      const came = entries.filter(
        (entry) => entry.actor === to && entry.by.kind === "delivery" && entry.by.from === actor && entry.by.seq === seq,
      );
      const lost = letters.filter((letter) => letter.receiver === to && letter.sender === actor && letter.seq === seq);
      const sent = deliveries.filter((request) => request.to === to).length;
      if (came.length + lost.length !== sent)
        yield `entry ${seq} of ${actor} delivers ${sent} to ${to}, where ${came.length + lost.length} came`;
    }
  }
};

/** What had ended turned everything away. (That nothing follows a final entry is the model's.) */
const act5: Check = function* ({ answers }) {
  for (const answer of answers)
    if (answer.was === "final" && !answer.repeated && !TURNED_AWAY.has(answer.came)) yield `${told(answer)} after its end`;
};

/** A failure leaves nothing of its macrostep; a write that failed leaves nothing at all, and fails only where storage does. */
const act7: Check = function* ({ answers, entries, of }) {
  const tags = new Set(entries.map(({ told: event }) => event.tag));
  for (const answer of answers) {
    if (answer.failed && !FAILED.has(answer.came) && !TURNED_AWAY.has(answer.came))
      yield `${told(answer)}, which is no failure of a macrostep`;
    if (answer.came !== "accepted" && answer.key === null && !answer.fenced && tags.has(answer.tag))
      yield `${told(answer)}, and it is in the journal`;
  }
  for (const { planned, left, error } of of("failed write")) {
    if (left !== null) yield `a write that failed left ${left}`;
    if (!planned) yield `a write failed by itself: ${error}`;
  }
};

/** Nothing that is due waits. (Once, in time, and by its policy: that is the model's.) */
const act8: Check = function* ({ evidence, actors }) {
  for (const { key, actor, dueMs } of evidence.reader.dueTimers(evidence.nowMs, 1000)) {
    const row = actors.get(actor);
    if (row?.status === "active" && !row.quarantine) yield `${key} is due since ${dueMs}, and it is ${evidence.nowMs}`;
  }
};

/** Events that only the engine makes were refused from outside, and are in no entry that the engine did not make. */
const act9: Check = function* ({ answers, entries }) {
  for (const answer of answers)
    if (IS_RESERVED.test(answer.type) && answer.came !== "event_reserved" && !TURNED_AWAY.has(answer.came)) yield told(answer);
  for (const { actor, seq, told: event, by } of entries)
    if (["outside", "handler", "delivery"].includes(by.kind) && IS_RESERVED.test(event.type))
      yield `entry ${seq} of ${actor} is ${event.type}, from ${by.kind}`;
};

/** Every start succeeds; whoever is not set aside takes an event; and only who cannot be read, or could not take an event, is set aside. */
const act10: Check = function* ({ answers, actors, of }) {
  for (const { error, excused } of of("opening")) if (error !== null && !excused) yield `the start failed: ${error}`;
  const damaged = new Set(of("damage").map(({ actor }) => actor));
  for (const answer of answers.filter(({ how }) => how === "ping")) {
    // What final actors answer is ACT-5.
    if (answer.was === "final") continue;
    const came = { active: "accepted", quarantined: "actor_quarantined", missing: "actor_not_found" }[answer.was];
    if (answer.came !== came && !(damaged.has(answer.actor) && answer.came === "actor_quarantined"))
      yield `${told(answer)}, being ${answer.was}`;
  }
  for (const { address, quarantine } of actors.values())
    if (quarantine && quarantine.code !== "event_poisoned" && !damaged.has(address)) yield `${address} is set aside: ${quarantine.message}`;
};

/** At the end, whatever is open or started is at work: its handler was called by the last owner. (`task` has few handlers at a time.) */
const atWork: Check = function* ({ evidence, actors, of }) {
  if (of("restless").length > 0) return;
  const gen = of("epoch").at(-1)?.gen;
  const called = new Set(of("call").flatMap((call) => (call.gen === gen ? [call.key] : [])));
  for (const { key, actor, name, state } of all((page) => evidence.reader.effects({}, page))) {
    const row = actors.get(actor);
    const isDue = row?.status === "active" && !row.quarantine && (state === "open" || state === "started") && name !== "task";
    if (isDue && called.size < 64 && !called.has(key)) yield `${key} is ${state}, and nobody works on it`;
  }
};

const CHECKS: Readonly<Record<string, Check>> = {
  "ACT-1": act1,
  "ACT-2": act2,
  "ACT-3": act3,
  "ACT-4": act4,
  "ACT-5": act5,
  "ACT-7": act7,
  "ACT-8": act8,
  "ACT-9": act9,
  "ACT-10": act10,
  "at work": atWork,
};

/** Everything that is broken, by the id of its invariant. What the model finds comes first: ACT-3 to ACT-6, and ACT-8. */
export function judge(evidence: Evidence): Breach[] {
  const { reader, machines, seen } = evidence;
  const of = <Kind extends Observation["saw"]>(kind: Kind) => seen.filter((one): one is Seen<Kind> => one.saw === kind);
  const entries = all((page) => reader.entries(page)).map((row) => ({ ...row, told: JSON.parse(row.event), by: JSON.parse(row.cause) }));
  const actors = new Map(all((page) => reader.actors({}, page)).map((row) => [row.address, row as ActorRow]));
  const damaged = new Set(of("damage").map(({ actor }) => actor));
  const epochs = ownerships(seen);
  const models = [...Map.groupBy(entries, ({ actor }) => actor)].map(([actor, rows]) => {
    const model = new ActorModel(machines[Number(actor[1])] as AnyStateMachine, actor, rows, epochs);
    const row = actors.get(actor);
    const own = { actor };
    if (row && !(damaged.has(actor) && row.snapshot === "{}"))
      model.compare(row, reader.effects(own, { limit: 1000 }), reader.timers(own, { limit: 1000 }));
    return model;
  });
  const court: Court = { evidence, entries, actors, models, answers: of("answer"), of };
  const found = models.flatMap(({ breaches }) => breaches);
  for (const [id, check] of Object.entries(CHECKS)) for (const what of check(court)) found.push({ id, what });
  return found;
}

/** When each ownership began, and when the one before it was last there. */
function ownerships(seen: readonly Observation[]): Ownership[] {
  const found: Ownership[] = [];
  let restedMs: number | undefined;
  let gone: Seen<"last gone"> | undefined;
  for (const one of seen) {
    if (one.saw === "rest") restedMs = one.atMs;
    if (one.saw === "last gone") gone = one;
    if (one.saw !== "epoch") continue;
    const { atMs, position, last } = one;
    const before = found.at(-1);
    const latest = gone && gone.position > last.position ? gone : last;
    // Where an ownership wrote no entry, its beginning was the last commit.
    const committedMs = restedMs ?? (before && latest.position <= before.position ? before.atMs : latest.atMs);
    found.push({ atMs, position, committedMs });
    restedMs = undefined;
  }
  return found;
}

/** All rows of a list, page by page. */
function all<Row extends object>(list: (page: Page) => readonly Row[]): Row[] {
  const rows: Row[] = [];
  for (;;) {
    const last = rows.at(-1) as { ordinal?: number; position?: number } | undefined;
    const page = list({ after: last?.ordinal ?? last?.position ?? 0, limit: 1000 });
    rows.push(...page);
    if (page.length < 1000) return rows;
  }
}
