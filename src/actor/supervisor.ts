/** Supervisor: the actor that is told, in the same commit, when one that it depends on is set aside or comes back. */

import { Cascade, engineEvent } from "./cascade.ts";
import type { Draft } from "./draft.ts";
import { machineOf } from "./input.ts";
import type { Rules } from "./rules.ts";
import { isFinal } from "./transition.ts";

/** Tells the supervisor of an actor, where it has one whose machine has that event. */
export function tellSupervisor(type: "engine.quarantined" | "engine.released", address: string, draft: Draft, rules: Rules): void {
  const to = supervisorOf(address, draft, rules);
  const supervisor = to === undefined ? undefined : draft.actor(to);
  if (supervisor?.kind !== "live" || isFinal(supervisor.snapshot) || !supervisor.registration.schemas.events[type]) return;
  const event = {
    type,
    actor: address,
    ...(type === "engine.quarantined" ? { code: draft.quarantineOf(address)?.code ?? "actor_quarantined" } : {}),
  };
  engineEvent({ to: supervisor.address, event, cause: { kind: "engine" } }, supervisor.registration, new Cascade(draft, rules));
}

/** Nobody, where the machine's own code for it fails: an actor that is set aside stops nobody else (ACT-10). */
function supervisorOf(address: string, draft: Draft, rules: Rules): string | undefined {
  const supervisor = rules.registrations.get(machineOf(address))?.schemas.supervisor;
  if (!supervisor) return undefined;
  try {
    const creation = draft.creationOf(address);
    if (!creation) return undefined;
    const to: unknown = rules.enclose(() => supervisor(JSON.parse(creation.event).input));
    return typeof to === "string" ? to : undefined;
  } catch {
    return undefined;
  }
}
