/** A machine that supervises another actor, and takes no notice of what becomes of it until it has something to tell it. */

import { type AnyStateMachine, setup } from "xstate";
import { z } from "zod";
import { engineActions } from "../../machines/index.ts";

const schemas = {
  input: z.strictObject({}),
  context: z.strictObject({}),
  events: {
    "ward.tell": z.strictObject({}),
    "engine.quarantined": z.object({ actor: z.string(), code: z.string() }),
    "engine.released": z.object({ actor: z.string() }),
  },
  facts: {},
};

export const ward: AnyStateMachine = setup({
  schemas,
  types: {} as { events: { type: string } },
  actions: engineActions,
} as never).createMachine({
  id: "ward",
  version: "1",
  context: {},
  initial: "idle",
  states: {
    idle: { on: { "ward.tell": "telling" } },
    telling: {
      entry: { type: "deliver", params: { to: "parcel/one", event: { type: "parcel.hold" } } },
      on: { "engine.quarantined": "alone" },
    },
    alone: { on: { "engine.released": "over" } },
    over: { type: "final" },
  },
} as never) as unknown as AnyStateMachine;
