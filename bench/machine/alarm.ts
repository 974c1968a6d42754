/** Alarm: waits a second and ends. Ten thousand of them are a timer storm. */

import { setup } from "xstate";
import { z } from "zod";

export const ALARM_MS = 1000;

export const alarm = setup({
  schemas: { input: z.strictObject({}), context: z.strictObject({}), events: {}, facts: {} },
  types: { input: {} as object, context: {} as object },
  delays: { soon: ALARM_MS },
}).createMachine({
  id: "alarm",
  version: "1",
  description: "Rings once.",
  context: {},
  initial: "set",
  states: {
    set: { description: "The timer is a row.", after: { soon: "rung" } },
    rung: { type: "final", description: "The timer has fired." },
  },
});
