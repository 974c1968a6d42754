/** Types from schemas: a machine's payloads are declared once, in zod, and inferred for XState. */

import type { EventObject } from "xstate";
import type { z } from "zod";

/** Union of `{ type, …payload }` over a record of payload schemas. */
export type Typed<Schemas extends Readonly<Record<string, z.ZodType>>> = {
  // An empty strict object is inferred as one that has no key at all, not even `type`.
  [Type in keyof Schemas & string]: z.infer<Schemas[Type]> extends Record<string, never>
    ? { type: Type }
    : Merged<{ type: Type } & z.infer<Schemas[Type]>>;
}[keyof Schemas & string];

/** An intersection as one object, which is how a person would have written it. */
type Merged<Type> = { [Key in keyof Type]: Type[Key] };

/**
 * What `setup({ types })` wants, from what `setup({ schemas })` holds: `types: {} as TypesOf<typeof schemas>`.
 * Write `const schemas = { … } satisfies MachineSchemas`, so that the compiler knows what its functions get and its words may be.
 */
export interface TypesOf<
  Schemas extends {
    readonly input: z.ZodType;
    readonly context: z.ZodType;
    readonly events: Readonly<Record<string, z.ZodType>>;
    readonly facts: Readonly<Record<string, z.ZodType>>;
  },
> {
  input: z.infer<Schemas["input"]>;
  context: z.infer<Schemas["context"]>;
  events: Typed<Schemas["events"]>;
  // A machine without facts has none to type; XState takes `never` for a type that fits no machine.
  emitted: [Typed<Schemas["facts"]>] extends [never] ? EventObject : Typed<Schemas["facts"]>;
}
