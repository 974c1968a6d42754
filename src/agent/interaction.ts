/** A handle on one interaction: what a person is asked, and the way to answer. It holds no state of its own. */

import { interaction as interactionMachine } from "../../machines/index.ts";
import type { ActorRef } from "../actor/actor-ref.ts";
import type { Engine } from "../actor/engine.ts";
import { canonical } from "../actor/json.ts";
import { agentError, codedError, declined } from "./error.ts";

/** What an answer to a question is bound to. */
export interface AnswerOptions {
  /** Hash of what was shown; absent: whatever the interaction asks. */
  readonly hash?: string;
}

/** What a decision about a permission is bound to. */
export interface DecisionOptions {
  /** Hash of what was shown: the decision is about that and nothing else. */
  readonly hash: string;
  /** Why, for the model to read; at most 65,536 characters. */
  readonly note?: string;
}

/** One question to a person, or leave that a person gives or denies. */
export class Interaction {
  readonly id: string;
  readonly #actor: ActorRef<typeof interactionMachine>;

  /** Throws `interaction_not_found`. */
  constructor(engine: Engine, id: string) {
    const actor = engine.get(interactionMachine, id);
    if (!actor) throw agentError("interaction_not_found", `there is no interaction ${id}`);
    this.id = id;
    this.#actor = actor;
  }

  /** The machine's last committed snapshot: its context has what is asked, its hash, and the answer once there is one. */
  getSnapshot() {
    return this.#actor.getSnapshot();
  }

  /**
   * Answers a question. The first durable answer stands; the same answer again does nothing. Throws `interaction_answered`,
   * `interaction_closed`, `interaction_changed` where the hash is not of this question, `answer_unfit` for a permission.
   */
  answer(text: string, options: AnswerOptions = {}): Promise<void> {
    return this.#answer({ kind: "text", text }, options.hash ?? this.getSnapshot().context.hash);
  }

  /** Gives or denies a permission. Throws as `answer` does; `answer_unfit` for a question. */
  decide(allow: boolean, options: DecisionOptions): Promise<void> {
    const { hash, note = null } = options ?? {};
    if (typeof hash !== "string")
      throw agentError("argument_invalid", "a decision is bound to the hash of what was shown", { details: { path: "hash" } });
    return this.#answer({ kind: "decision", allow, note }, hash);
  }

  async #answer(
    answer: { kind: "text"; text: string } | { kind: "decision"; allow: boolean; note: string | null },
    hash: string,
  ): Promise<void> {
    const sent = await this.#actor.send({ type: "interaction.answer", hash, answer });
    if (sent.kind === "accepted") return;
    const over = sent.kind === "refused" && sent.code === "actor_final";
    if (sent.kind === "refused" && !over) throw codedError(sent.code, sent.message);
    const { context } = this.getSnapshot();
    if (context.answer && context.hash === hash && canonical(context.answer) === canonical(answer)) return;
    if (over && !context.answer) throw agentError("interaction_closed", `the turn that asked ${this.id} ended before it was answered`);
    const code = over ? "interaction_answered" : sent.kind === "ignored" ? sent.reason : undefined;
    throw declined(code ?? "interaction_answered", `the interaction ${this.id}`);
  }
}
