/** The proof of the machine in order.ts: all its paths, a crash at each commit of them, and a store that fails at each write. */

// ---
import { describe, test } from "node:test"; // vitest's do as well
import { exerciseMachine } from "holdfast/testing";
import { order } from "./order.ts";

exerciseMachine(
  order,
  {
    input: { total: 10 },
    events: [
      { type: "order.pay" },
      { type: "charge.done", output: "receipt-1" }, // what the handler returns; that it fails is tried as well
    ],
  },
  { describe, test },
);
