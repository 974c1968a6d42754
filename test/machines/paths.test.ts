import { describe, test } from "vitest";
import { machines } from "../../machines/index.ts";
import { exerciseMachine } from "../../src/testing/index.ts";
import { EXPLORED } from "./paths/index.ts";

const only = process.env.ONLY;
for (const { machine, options } of EXPLORED)
 if (!only || machine.id === only)
  exerciseMachine(machine, { ...options, others: machines, paths: 1000, crashes: Number(process.env.CR ?? 100000), faults: Number(process.env.FA ?? 1000) }, { describe, test });
