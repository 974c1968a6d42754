/** Registry: the machines that an engine runs, by their ids, each with the handlers of its effects. */

import type { AnyStateMachine } from "xstate";
import type { EffectHandler } from "./handler.ts";
import { machineInvalid, type Registration, register } from "./registration.ts";

/**
 * Registers machines and refuses those that share an id or lack a handler. A handler that is given wins over one that comes with its
 * machine, so that promise logic can be replaced.
 */
export function registerAll(
  machines: readonly AnyStateMachine[],
  given?: Readonly<Record<string, EffectHandler>>,
): Map<string, Registration> {
  const registrations = new Map<string, Registration>();
  for (const machine of machines) {
    const registration = register(machine);
    if (registrations.has(registration.id)) throw machineInvalid(registration.id, "id", "is the id of another machine too");
    // Without a prototype: an effect may be called as something that every object has.
    const handlers: Record<string, EffectHandler> = Object.assign(Object.create(null), registration.handlers);
    for (const name of registration.effects.keys()) {
      const handler = given && Object.hasOwn(given, name) ? given[name] : handlers[name];
      if (typeof handler === "function") handlers[name] = handler;
      else if (given) throw machineInvalid(registration.id, `effects.${name}`, "is an effect without a handler");
    }
    registrations.set(registration.id, { ...registration, handlers });
  }
  return registrations;
}
