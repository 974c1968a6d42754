/** A handle on one handoff, from its request to its seal: reads of two actors, and events to the run that decides. */

import type { handoff as handoffMachine, run as runMachine, Seal } from "../../machines/index.ts";
import type { ActorRef } from "../actor/actor-ref.ts";
import { agentError, codedError } from "./error.ts";
import { unlessLost } from "./loss.ts";

/** One handoff as its requester sees it. Promises of a runtime that was closed reject with `closed`. */
export class Handoff {
  readonly id: string;
  /** True: the run is held at a boundary. False: it ended, or the request was cancelled, before one. */
  readonly ready: Promise<boolean>;
  /** True: the seal is durable. False: the handoff ended without one. Rejects with `seal_not_durable`; never unhandled. */
  readonly sealed: Promise<boolean>;
  readonly #handoff: ActorRef<typeof handoffMachine>;
  readonly #run: ActorRef<typeof runMachine>;

  constructor(handoff: ActorRef<typeof handoffMachine>, run: ActorRef<typeof runMachine>, signal?: AbortSignal) {
    this.id = handoff.id;
    this.#handoff = handoff;
    this.#run = run;
    this.ready = handoff
      .waitFor(({ context, status }) => context.preview !== null || status === "done")
      .then(({ context }) => context.preview !== null);
    this.sealed = this.#sealed();
    // Whoever does not await them must not be ended by them.
    this.ready.catch(() => {});
    this.sealed.catch(() => {});
    if (!signal) return;
    const cancel = () => void this.cancel().catch(() => {});
    if (signal.aborted) cancel();
    else {
      signal.addEventListener("abort", cancel, { once: true });
      this.sealed.then(
        () => signal.removeEventListener("abort", cancel),
        () => signal.removeEventListener("abort", cancel),
      );
    }
  }

  /** The identities that were fixed by the request. */
  get identities(): { readonly successorRunId: string; readonly claimId: string } {
    const { successorRunId, claimId } = this.#handoff.getSnapshot().context;
    return { successorRunId, claimId };
  }

  /** The exact seal that a commit leads to. Throws `not_held`, and `composition_not_durable` where the run cannot be handed off. */
  async preview(): Promise<Seal> {
    const snapshot = this.#run.getSnapshot();
    const { preview, handoff, composition } = snapshot.context;
    if (!snapshot.hasTag("held") || handoff?.handoffId !== this.id || !preview)
      throw agentError("not_held", `the run is not held for the handoff ${this.id}`);
    if (!composition) throw agentError("composition_not_durable", "the run has no durable composition");
    return preview;
  }

  /**
   * Decides the handoff. True: decided, durably; `sealed` tells when the seal is. False: the run is not held for this handoff any more.
   * Throws `composition_not_durable`; the request can still be cancelled then.
   */
  async commit(): Promise<boolean> {
    const answer = await this.#run.send({ type: "handoff.commit", handoffId: this.id });
    if (answer.kind === "ignored" && answer.reason === "composition_not_durable")
      throw agentError("composition_not_durable", "the run has no durable composition");
    if (answer.kind === "refused" && answer.code !== "actor_final") throw codedError(answer.code, answer.message);
    return answer.kind === "accepted";
  }

  /** Withdraws the request; the run goes on. False where it is decided, or over, already. */
  async cancel(): Promise<boolean> {
    const answer = await this.#run.send({ type: "handoff.cancel", handoffId: this.id });
    if (answer.kind === "refused" && answer.code !== "actor_final") throw codedError(answer.code, answer.message);
    return answer.kind === "accepted";
  }

  #sealed(): Promise<boolean> {
    return unlessLost(this.#run, (signal) =>
      this.#handoff
        .waitFor(({ context, status }) => context.seal !== null || status === "done", { signal })
        .then(({ context }) => context.seal !== null),
    );
  }
}
