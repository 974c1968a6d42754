/** A ticket that knows when it was answered, and by which desk: time, ids and chance in a transition that is pure. */

// ---
import { createHash } from "node:crypto";
import type { Stamp, TypesOf } from "holdfast/actors";
import { openMemoryActors, purityTrap, simulatedClock } from "holdfast/testing";
import { assign, setup } from "xstate";
import { z } from "zod";

const schemas = {
  input: z.object({}),
  context: z.object({ openedMs: z.number(), waitedMs: z.number(), answerId: z.string(), desk: z.number() }),
  events: { "ticket.answer": z.object({}) },
  facts: {},
};

/** The engine's stamp. Nobody can send one, so schemas and types of events leave it out. */
const stampOf = (given: object): Stamp => (given as { stamp: Stamp }).stamp;
/** A number from 1 to `count`, drawn by the id: the same each time that this event is folded. */
const drawn = (id: string, count: number) => 1 + (createHash("sha256").update(id).digest().readUInt32BE() % count);

const ticket = setup({ schemas, types: {} as TypesOf<typeof schemas> }).createMachine({
  id: "ticket",
  version: "1",
  context: ({ input }) => ({ openedMs: stampOf(input).at, waitedMs: 0, answerId: "", desk: 0 }),
  initial: "open",
  states: {
    open: {
      on: {
        "ticket.answer": {
          target: "answered",
          actions: assign(({ context, event }) => {
            const { at, id } = stampOf(event);
            return { waitedMs: at - context.openedMs, answerId: id, desk: drawn(id, 3) };
          }),
        },
      },
    },
    answered: { type: "final" },
  },
});

const clock = simulatedClock(Date.UTC(2026, 0, 1));
const actors = await openMemoryActors({ machines: [ticket], clock, enclose: purityTrap });
const seven = await actors.create(ticket, "seven", { input: {} });
clock.advance(90_000);
await seven.send({ type: "ticket.answer" });
console.log(JSON.stringify(seven.getSnapshot().context));
console.log("verified:", actors.verify().ok); // folded again, with the stamps of then
await actors.close();
