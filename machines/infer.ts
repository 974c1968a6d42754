/** Types from schemas: a machine's payloads are declared once, as zod or another Standard Schema, and inferred for XState. */

import type { EventObject } from "xstate";

/** What is inferred from: a schema of zod, or of any library that implements Standard Schema. */
interface Inferable {
  readonly "~standard": { readonly types?: { readonly output: unknown } | undefined };
}

/** What a value is after its schema. */
type OutputOf<Schema extends Inferable> = NonNullable<Schema["~standard"]["types"]>["output"];

/** Union of `{ type, …payload }` over a record of payload schemas. */
export type Typed<Schemas extends Readonly<Record<string, Inferable>>> = {
  // An empty strict object is inferred as one that has no key at all, not even `type`.
  [Type in keyof Schemas & string]: OutputOf<Schemas[Type]> extends Record<string, never>
    ? { type: Type }
    : Merged<{ type: Type } & OutputOf<Schemas[Type]>>;
}[keyof Schemas & string];

/** An intersection as one object, which is how a person would have written it. */
type Merged<Type> = { [Key in keyof Type]: Type[Key] };

/**
 * What `setup({ types })` wants, from what `setup({ schemas })` holds: `types: {} as TypesOf<typeof schemas>`.
 * Write `const schemas = { … } satisfies MachineSchemas`, so that the compiler knows what its functions get and its words may be.
 */
export interface TypesOf<
  Schemas extends {
    readonly input: Inferable;
    readonly context: Inferable;
    readonly events: Readonly<Record<string, Inferable>>;
    readonly facts: Readonly<Record<string, Inferable>>;
  },
> {
  input: OutputOf<Schemas["input"]>;
  context: OutputOf<Schemas["context"]>;
  events: Typed<Schemas["events"]>;
  // A machine without facts has none to type; XState takes `never` for a type that fits no machine.
  emitted: [Typed<Schemas["facts"]>] extends [never] ? EventObject : Typed<Schemas["facts"]>;
}
