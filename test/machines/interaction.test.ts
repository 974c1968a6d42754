import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { interaction } from "../../machines/index.ts";
import { digest, question } from "./sample.ts";
import { type Event, inlineFunctions, type Row, restingStates, type Situation, Table } from "./table.ts";

const input = { ...question, sessionId: "session-1", turnId: "turn-1", runId: "run-1" };
const permission = { ...input, kind: "permission", subject: { tool: "write" } };

const listen = (runId = "run-1"): Event => ({ type: "interaction.listen", runId });
const hold: Event = { type: "interaction.hold" };
const close: Event = { type: "interaction.close" };
const say = (changes = {}): Event => ({ type: "interaction.answer", hash: digest, answer: { kind: "text", text: "yes" }, ...changes });
const decide: Event = say({ answer: { kind: "decision", allow: false, note: null } });
const other: Event = say({ hash: "b".repeat(64) });

const after = (...events: Event[]): Situation => ({ input, events });

const SITUATIONS = {
  asked: after(),
  awaited: after(listen()),
  held: after(listen(), hold),
  kept: after(say()),
  "a permission": { input: permission, events: [listen()] },
} as const;

const told = ["run/run-1 ! interaction.answered"];

const ROWS: readonly (Row & { readonly given: keyof typeof SITUATIONS })[] = [
  { given: "asked", when: listen(), to: "awaited", context: { listener: "run-1" } },
  { given: "asked", when: say(), to: "kept", facts: ["interaction.answered"], context: { answer: { kind: "text", text: "yes" } } },
  { given: "asked", when: close, to: "closed", facts: ["interaction.closed"] },
  {
    given: "awaited",
    when: say(),
    to: "given",
    facts: ["interaction.answered", "interaction.given"],
    requests: told,
    context: { answer: { kind: "text", text: "yes" } },
  },
  { given: "awaited", when: other, to: "ignored: interaction_changed" },
  { given: "awaited", when: decide, to: "ignored: answer_unfit" },
  { given: "awaited", when: listen("run-2"), to: "awaited", context: { listener: "run-2" } },
  { given: "awaited", when: hold, to: "unawaited", context: { listener: null } },
  { given: "awaited", when: close, to: "closed", facts: ["interaction.closed"] },
  { given: "held", when: say(), to: "kept", facts: ["interaction.answered"] },
  { given: "held", when: listen("run-2"), to: "awaited", context: { listener: "run-2" } },
  { given: "held", when: other, to: "ignored: interaction_changed" },
  {
    given: "kept",
    when: listen("run-2"),
    to: "given",
    facts: ["interaction.given"],
    requests: ["run/run-2 ! interaction.answered"],
  },
  { given: "kept", when: say(), to: "ignored: interaction_answered" },
  { given: "kept", when: close, to: "closed", facts: ["interaction.closed"] },
  { given: "a permission", when: decide, to: "given", facts: ["interaction.answered", "interaction.given"], requests: told },
  { given: "a permission", when: say(), to: "ignored: answer_unfit" },
];

const table = new Table(interaction, SITUATIONS);

describe("the interaction", () => {
  it.each(ROWS.map((row) => ({ ...row, event: row.when.type })))("$given, on $event: $to", (row) => {
    expect(table.found(row)).toEqual({ to: row.to, facts: row.facts ?? [], requests: row.requests ?? [], context: row.context ?? {} });
  });

  it("takes every one of its transitions in a row of this table", () => {
    expect(table.untaken(ROWS)).toEqual([]);
  });

  it("has each guard say yes and no in a row of this table", () => {
    expect(table.halfTested(ROWS)).toEqual([]);
  });

  it("states what is asked when it is made, before anybody listens", () => {
    const made = table.create("a permission");
    expect(made.facts).toEqual([
      { type: "interaction.asked", id: input.id, kind: "permission", question: "May I?", subject: { tool: "write" }, hash: digest },
    ]);
    expect(made.snapshot.value).toBe("unawaited");
  });

  it("has a row for every state in which it can rest", () => {
    expect(table.begun(ROWS).sort()).toEqual(restingStates(interaction));
  });

  it("runs as a plain machine, and has no unnamed action or guard", () => {
    const actor = createActor(interaction, { input: input as never }).start();
    for (const event of [say(), listen()]) actor.send(event as never);
    expect(actor.getSnapshot()).toMatchObject({ value: "given", status: "done" });
    expect(inlineFunctions(interaction)).toEqual([]);
  });
});
