/** `holdfast answer INTERACTION`: records what a person says; whichever process owns the root next goes on with it. */

import { type InteractionAnswer, interaction as interactionMachine } from "../../../machines/index.ts";
import { agentError } from "../../agent/error.ts";
import { Interaction } from "../../agent/interaction.ts";
import { withEngine } from "../acting.ts";
import { EXIT } from "../exit.ts";
import { oneLine } from "../format.ts";
import { findInteractionId } from "../id.ts";
import { answerText } from "../list/interaction.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";

export interface AnswerOptions extends CommonOptions {
  readonly allow?: boolean;
  readonly deny?: boolean;
  readonly hash?: string;
  readonly note?: string;
}

/**
 * Throws `interaction_not_found`, `interaction_answered`, `interaction_closed`, `interaction_changed`, `answer_unfit`,
 * `argument_invalid`, `ambiguous`, and `root_owned`.
 */
export async function answerCommand(given: string, text: string | undefined, options: AnswerOptions, screen: Screen): Promise<Result> {
  const answer = answerOf(text, options);
  return withEngine(options, async (engine) => {
    const interaction = new Interaction(engine, findInteractionId(engine.reader, given));
    const actor = engine.get(interactionMachine, interaction.id)!;
    const { hash, listener } = actor.getSnapshot().context;
    // Kept for the next owner: given to the run now, it would begin a step here that nobody takes.
    if (actor.can({ type: "interaction.answer", hash: options.hash ?? hash, answer })) await actor.send({ type: "interaction.hold" });
    if (answer.kind === "text") await interaction.answer(answer.text, options);
    else await interaction.decide(answer.allow, { hash: options.hash ?? "", ...(answer.note === null ? {} : { note: answer.note }) });
    const { context, value } = interaction.getSnapshot();
    const said = context.answer ? answerText(context.answer) : "";
    const waits = listener === null ? "The run that goes on with the turn gets it" : `run/${oneLine(listener)} gets it`;
    return {
      exit: EXIT.done,
      document: { interaction: interaction.id, state: value, answer: context.answer, run: context.runId, waiting: listener },
      lines: [
        `${screen.style("green", "answered")}  ${oneLine(interaction.id)}: ${oneLine(said)}`,
        ...(value === "kept" ? [`${waits} from the next owner of the root with its backend.`] : []),
      ],
    };
  });
}

/** What was said. A permission is bound to what the person was shown, so its hash is theirs to give. */
function answerOf(text: string | undefined, { allow, deny, hash, note }: AnswerOptions): InteractionAnswer {
  const refuse = (field: string, problem: string) => agentError("argument_invalid", `${field}: ${problem}`, { details: { path: field } });
  if ([text, allow, deny].filter((said) => said !== undefined).length !== 1) throw refuse("TEXT", "say one of TEXT, --allow and --deny");
  if (text !== undefined) {
    if (note !== undefined) throw refuse("--note", "goes with --allow or --deny; a question is answered by TEXT");
    return { kind: "text", text };
  }
  if (hash === undefined) throw refuse("--hash", "say what is decided about: `holdfast show INTERACTION` gives the hash");
  return { kind: "decision", allow: allow === true, note: note ?? null };
}
