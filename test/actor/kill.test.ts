/**
 * A child process on a real root is killed with SIGKILL before, inside and after its commits and around its handlers, at points
 * sampled over the whole of its work; then the root is opened, held against what the child had said, and the work is finished.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { FaultPoint } from "../../src/actor/commit.ts";
import type { Engine } from "../../src/actor/engine.ts";
import { openActors } from "../../src/actors.ts";
import { type ChildEnd, runChild } from "../../src/testing/index.ts";
import { size } from "../../tools/test/size.ts";
import { temporary } from "./counter.ts";
import { type Acknowledged, CERTAIN, handlersThatLog, IDS, machine, ONCE, ONCES, work } from "./kill.ts";

/** Kills in all; raise it to look harder: `HOLDFAST_KILLS=500 vitest run test/actor/kill.test.ts`. */
const KILLS = size("KILLS", 20);
/** Children at work at a time. */
const PARALLEL = 3;
const POINTS: readonly FaultPoint[] = ["commit.before", "commit.inside", "commit.after", "effect.before", "effect.after"];

interface Kill {
  readonly point: FaultPoint;
  readonly nth: number;
}

interface Root {
  readonly path: string;
  readonly log: string;
}

const makeRoot = (directory: string, name: string): Root => ({ path: join(directory, name), log: join(directory, `${name}.log`) });

function child({ path, log }: Root, kill?: Kill): Promise<ChildEnd> {
  return runChild(new URL("./kill.child.ts", import.meta.url), [path, log, ...(kill ? [kill.point, String(kill.nth)] : [])]);
}

const logOf = ({ log }: Root): string[] => (existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1) : []);

function journalOf(actors: Engine, actor: string) {
  return actors.reader.journal(actor, { limit: 1000 }).map((row) => ({
    seq: row.seq,
    event: JSON.parse(row.event) as { type: string; effect?: string },
    cause: JSON.parse(row.cause) as { kind: string; key?: string },
    actions: JSON.parse(row.actions) as { type: string; name?: string }[],
  }));
}

/** Kills a child, perhaps its successor too, then holds the root against what they said and finishes the work. Gives the kills that struck. */
async function killAndFinish(root: Root, kills: readonly Kill[]): Promise<number> {
  const acknowledged: Acknowledged[] = [];
  let struck = 0;
  for (const kill of kills) {
    const end = await child(root, kill);
    // A child that did not come so far ended by itself: how its work falls into commits is left to chance.
    expect({ ...kill, ended: end.signal ?? end.code, stderr: end.stderr }).toEqual({
      ...kill,
      ended: end.signal ? "SIGKILL" : 0,
      stderr: "",
    });
    if (end.signal) struck++;
    acknowledged.push(...end.lines.map((line) => JSON.parse(line)).filter((said) => "key" in said));
  }
  await using actors = await openActors({
    root: root.path,
    machines: [machine],
    effects: handlersThatLog(root.log),
    synchronous: "normal",
  });
  // ACT-3, ACT-4, ACT-7: no gap, no half of a commit, every fold equal.
  expect(actors.verify().faults).toEqual([]);
  for (const { actor, seq, key } of acknowledged)
    expect(journalOf(actors, actor).find((entry) => entry.seq === seq)?.cause).toEqual({ kind: "outside", key });
  await work(actors, () => undefined);
  expect(actors.verify().faults).toEqual([]);
  const entries = IDS.flatMap((id) => journalOf(actors, `counter/${id}`));
  const settledBy = (type: string) => entries.filter(({ event }) => event.type === type).map(({ event }) => event.effect);
  const [done, worked, unknown] = [settledBy("once.done"), settledBy("work.done"), settledBy("effect.unknown")];
  // ACT-1: nothing ran that no entry had requested.
  const requested = new Set(
    IDS.flatMap((id) =>
      journalOf(actors, `counter/${id}`).flatMap(({ seq, actions }) => actions.map((_, index) => `counter/${id}:${seq}:${index}`)),
    ),
  );
  const ran = logOf(root);
  expect(ran.filter((key) => !requested.has(key))).toEqual([]);
  // ACT-6, and both deliveries: each request has one outcome; done at most once has run at most once, and once where it is done.
  const times = (key: string | undefined) => ran.filter((other) => other === key).length;
  expect([done.length + unknown.length, worked.length, new Set([...done, ...unknown, ...worked]).size]).toEqual([ONCES, ONCES, 2 * ONCES]);
  expect(done.map(times)).toEqual(done.map(() => 1));
  expect(unknown.map(times).filter((count) => count > 1)).toEqual([]);
  expect(worked.map(times).filter((count) => count < 1)).toEqual([]);
  const total = IDS.reduce((sum, id) => sum + (actors.get(machine, id)?.getSnapshot().context.count ?? 0), 0);
  expect(total).toBe(CERTAIN + ONCE * done.length);
  expect([actors.effects(), actors.deadLetters()]).toEqual([[], []]);
  return struck;
}

it("work that is killed anywhere loses nothing that was acknowledged, repeats nothing that must not be, and can be finished (ACT-1 to ACT-7)", async () => {
  const directory = temporary();
  const whole = await child(makeRoot(directory, "whole"));
  expect({ code: whole.code, stderr: whole.stderr }).toEqual({ code: 0, stderr: "" });
  const counts = new Map(
    whole.lines
      .map((line) => JSON.parse(line))
      .filter(({ point }) => point)
      .map(({ point, count }) => [point as FaultPoint, count as number]),
  );
  const each = Math.ceil(KILLS / POINTS.length);
  const kills = POINTS.flatMap((point) => {
    const hits = counts.get(point) ?? 0;
    return Array.from({ length: each }, (_, index): Kill => ({ point, nth: 1 + Math.floor((index * hits) / each) }));
  });
  const waiting = kills.map((kill, index) => ({
    root: makeRoot(directory, `root-${index}`),
    // Every fourth has a successor that is killed too, mostly in its recovery.
    kills: index % 4 === 0 ? [kill, { ...kill, nth: 1 }] : [kill],
  }));
  const planned = waiting.reduce((sum, one) => sum + one.kills.length, 0);
  let struck = 0;
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const more = await killAndFinish(next.root, next.kills);
      struck += more;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  console.log(`${struck} of ${planned} kills struck, sampled over ${[...counts].map(([point, count]) => `${count} ${point}`).join(", ")}`);
  expect(struck).toBeGreaterThanOrEqual(Math.floor(planned * 0.8));
});
