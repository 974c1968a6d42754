import { describe, expect, it } from "vitest";
import { fakeBackend, type OpenHoldfastOptions, type Segment } from "../../src/index.ts";
import { asks, begun, checked, codes, found, goesOn, goOn, plot, seal, waits } from "./way.ts";
import { codeOf, collect, Gate, World } from "./world.ts";

const HANDOFF = { purpose: "handoff" } as const;
const permission = asks({ id: "write", question: "May I write?", kind: "permission", subject: { path: "/etc" } });
const WRITE = "run-1.write";

/** A world whose first run asks for a permission in its first step. */
async function asking(acts: Parameters<typeof plot>[0] = {}, options: Partial<OpenHoldfastOptions> = {}, gates: Record<string, Gate> = {}) {
  const backend = fakeBackend({ script: plot({ "run-1#1": permission, ...acts }, gates) });
  const world = await World.open(backend, options);
  const run = await world.begin();
  await waits(run);
  const decide = (allow: boolean) => {
    const asked = world.holdfast.interaction(WRITE);
    return asked.decide(allow, { hash: asked.getSnapshot().context.hash });
  };
  /** What each step of the continuing runs was told. */
  const denied = () => backend.steps.flatMap(({ runId, continuation }) => (continuation ? [`${runId} ${continuation.denied}`] : []));
  return { world, run, decide, denied };
}

describe("a permission that was denied in an earlier run of the turn", () => {
  it("is told to the successor's step", async () => {
    const at = new Gate();
    const { world, run, decide, denied } = await asking({ "run-1#2": goesOn }, {}, { "run-1#2": at });
    await decide(false);
    await seal(run, "run-2", at);
    expect((await goOn(world, "run-1", HANDOFF)).at(-1)).toMatchObject({ kind: "completed" });
    expect(denied()).toEqual(["run-2 true"]);
  });

  it("is told also over two handoffs", async () => {
    const [first, second] = [new Gate(), new Gate()];
    const gates = { "run-1#2": first, "run-2#1": second };
    const { world, run, decide, denied } = await asking({ "run-1#2": goesOn, "run-2#1": goesOn }, {}, gates);
    await decide(false);
    await seal(run, "run-2", first);
    const next = await begun(world, "run-1", HANDOFF, "run.dispatched");
    await seal(next, "run-3", second);
    await goOn(world, "run-2", HANDOFF);
    expect(denied()).toEqual(["run-2 true", "run-3 true"]);
  });

  it("is told where it was decided while the turn was sealed", async () => {
    const { world, run, decide, denied } = await asking();
    await seal(run);
    await decide(false);
    await goOn(world, "run-1", HANDOFF);
    expect(denied()).toEqual(["run-2 true"]);
  });

  it("is told where it was decided by the successor's time, to the run after that", async () => {
    const at = new Gate();
    const { world, run, decide, denied } = await asking({ "run-2#1": goesOn }, {}, { "run-2#1": at });
    await seal(run);
    const next = await begun(world, "run-1", HANDOFF, "run.waiting");
    await decide(false);
    await seal(next, "run-3", at);
    await goOn(world, "run-2", HANDOFF);
    expect(denied()).toEqual(["run-2 false", "run-3 true"]);
  });

  it("is told where the run was told, whatever the permission's row says since", async () => {
    const at = new Gate();
    const { world, run, decide, denied } = await asking({ "run-1#2": goesOn }, {}, { "run-1#2": at });
    await decide(false);
    await seal(run, "run-2", at);
    world.tamper(
      "UPDATE actors SET snapshot = replace(snapshot, '\"allow\":false', '\"allow\":true') WHERE address = ?",
      `interaction/${WRITE}`,
    );
    await goOn(world, "run-1", HANDOFF);
    expect(denied()).toEqual(["run-2 true"]);
  });

  it("is told to a continuation in a new turn", async () => {
    const { world, run, decide, denied } = await asking({ "run-1#2": () => Promise.reject(new Error("broken")) });
    await decide(false);
    await run.end();
    const events = await goOn(world);
    expect(denied()).toEqual([`${events[0]?.runId} true`]);
  });

  it("is not lost where it is decided in the middle of the resume", async () => {
    let meanwhile = async () => {};
    const { world, run, decide, denied } = await asking({}, { denials: () => meanwhile().then(() => false) });
    await seal(run);
    const continuation = await checked(world, "run-1", HANDOFF);
    meanwhile = () => decide(false);
    expect(await codeOf(() => collect(world.holdfast.resume(continuation)))).toBe("source_identity_changed");
    expect(world.actors("run")).toHaveLength(1);
    await collect(world.holdfast.resume(continuation));
    expect(denied()).toEqual(["run-2 true"]);
  });
});

describe("no denial is", () => {
  it("a grant, which is not inherited either", async () => {
    const { world, run, decide, denied } = await asking();
    await seal(run);
    await decide(true);
    await goOn(world, "run-1", HANDOFF);
    expect(denied()).toEqual(["run-2 false"]);
  });

  it("a permission that nobody decided about before the turn was stopped", async () => {
    const { world, run, denied } = await asking();
    await run.stop();
    await run.end();
    expect(world.state(`interaction/${WRITE}`)).toBe("closed");
    await goOn(world);
    expect(denied()).toEqual([expect.stringMatching(/ false$/)]);
  });

  it("a question, whatever was answered", async () => {
    const { world, run, denied } = await asking({ "run-1#1": asks({ id: "write", question: "Which?" }) });
    await seal(run);
    await world.holdfast.interaction(WRITE).answer("no");
    await goOn(world, "run-1", HANDOFF);
    expect(denied()).toEqual(["run-2 false"]);
  });
});

describe("a record of denials of the program's own", () => {
  it("is asked with the segments of all runs, oldest first, and what it says is told", async () => {
    const asked: (readonly Segment[])[] = [];
    const at = new Gate();
    const options = { denials: (segments: readonly Segment[]) => asked.push(segments) > 1 };
    const { world, run, denied } = await asking({ "run-2#1": goesOn }, options, { "run-2#1": at });
    await seal(run);
    await world.holdfast.interaction(WRITE).decide(true, { hash: world.context(`interaction/${WRITE}`).hash });
    const next = await begun(world, "run-1", HANDOFF, "run.dispatched");
    await seal(next, "run-3", at);
    await goOn(world, "run-2", HANDOFF);
    const segment = (runId: string) => {
      const { seq, hash } = world.reader.actor(`run/${runId}`) ?? {};
      return { sessionId: "session-1", turnId: "turn-1", runId, seq, hash };
    };
    expect(asked).toEqual([[segment("run-1")], [segment("run-1")], ...Array(2).fill([segment("run-1"), segment("run-2")])]);
    expect(denied()).toEqual(["run-2 true", "run-3 true"]);
  });
});

describe("whether something was denied cannot be found out", () => {
  const damage = (world: World) => world.tamper("UPDATE actors SET snapshot = '{' || snapshot WHERE address = ?", `interaction/${WRITE}`);
  const mend = (world: World) => world.tamper("UPDATE actors SET snapshot = substr(snapshot, 2) WHERE address = ?", `interaction/${WRITE}`);

  it.each([
    [
      "the program's record throws",
      (broken: { now: unknown }) => {
        broken.now = new Error("no index");
        return () => Object.assign(broken, { now: false });
      },
      "no index",
    ],
    [
      "the program's record says neither yes nor no",
      (broken: { now: unknown }) => {
        broken.now = "maybe";
        return () => Object.assign(broken, { now: false });
      },
      "true or false",
    ],
    [
      "the row of the permission is damaged",
      (_: { now: unknown }, world: World) => {
        damage(world);
        return () => mend(world);
      },
      "cannot be read",
    ],
    [
      "the row of the permission says another answer than its journal",
      (_: { now: unknown }, world: World) => {
        const flip = (from: string, to: string) =>
          world.tamper("UPDATE actors SET snapshot = replace(snapshot, ?, ?) WHERE address = ?", from, to, `interaction/${WRITE}`);
        flip('"allow":false', '"allow":true');
        return () => flip('"allow":true', '"allow":false');
      },
      "another answer",
    ],
    [
      "the permission is set aside",
      (_: { now: unknown }, world: World) => {
        const { address } = world.reader.actor(`interaction/${WRITE}`) ?? { address: "" };
        world.tamper("UPDATE actors SET quarantine = ? WHERE address = ?", JSON.stringify({ code: "c", message: "m", atMs: 1 }), address);
        return () => world.tamper("UPDATE actors SET quarantine = NULL WHERE address = ?", address);
      },
      "set aside",
    ],
    [
      "the row of the permission is gone",
      (_: { now: unknown }, world: World) => {
        world.tamper("UPDATE actors SET address = 'interaction/away' WHERE address = ?", `interaction/${WRITE}`);
        return () => world.tamper("UPDATE actors SET address = ? WHERE address = 'interaction/away'", `interaction/${WRITE}`);
      },
      "no interaction",
    ],
  ] as const)("where %s: nobody goes on, and later somebody does", async (_, breaks, cause) => {
    const broken = { now: false as unknown };
    const denials = () => {
      if (broken.now instanceof Error) throw broken.now;
      return broken.now as boolean;
    };
    const { world, run, decide, denied } = await asking({}, { denials });
    await seal(run);
    await decide(false);
    const continuation = await checked(world, "run-1", HANDOFF);
    const mended = breaks(broken, world);
    const before = world.dump();
    expect(await found(world, "run-1", HANDOFF)).toMatchObject([
      { code: "denial_lookup_failed", details: { cause: expect.stringContaining(cause) } },
    ]);
    const failure = await collect(world.holdfast.resume(continuation)).catch((error) => error);
    expect(failure).toMatchObject({ code: "denial_lookup_failed", retryable: true });
    expect(failure.cause.message).toContain(cause);
    expect(world.dump()).toBe(before);
    expect([world.state("run/run-2"), world.state("run/run-1")]).toEqual([undefined, "sealed"]);
    mended();
    expect(await codes(world, "run-1", HANDOFF)).toBe("continue");
    await collect(world.holdfast.resume(continuation));
    expect(denied()).toEqual(["run-2 true"]);
    expect(world.holdfast.verify().faults).toEqual([]);
  });
});
