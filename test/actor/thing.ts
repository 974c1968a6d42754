/** Small machines, each with one thing in it to look at. */

import { type AnyStateMachine, setup } from "xstate";
import { z } from "zod";
import { engineActions } from "../../machines/action.ts";

export const nothing = z.strictObject({});

/** Schemas that fit most machines. */
export const schemas = {
  input: nothing,
  context: z.looseObject({}),
  events: { go: nothing, more: nothing, "step.on": nothing, "job.done": z.looseObject({}), "job.failed": z.looseObject({}) },
  facts: { "thing.told": z.looseObject({}) },
};

/** What `setup()` takes besides the schemas, of any type: the definition itself is what is looked at. */
export interface Parts {
  readonly schemas?: object;
  readonly actions?: object;
  readonly guards?: object;
  readonly delays?: object;
  readonly actors?: object;
}

/** A machine with this configuration; id, version, context and schemas are as they must be where they are not given. */
export function thing(config: object, parts: Parts = {}): AnyStateMachine {
  const { actions, schemas: more, ...others } = parts;
  return setup({ ...others, schemas: { ...schemas, ...more }, actions: { ...engineActions, ...actions } } as never).createMachine({
    id: "thing",
    version: "1",
    context: {},
    ...config,
  } as never) as unknown as AnyStateMachine;
}

/** A machine that has this state, and one to go to. */
export function inState(state: object, parts: Parts = {}): AnyStateMachine {
  return thing({ initial: "one", states: { one: state, two: {} } }, parts);
}
