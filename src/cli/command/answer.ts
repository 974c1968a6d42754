/** `holdfast answer INTERACTION`: records what a person says; whichever process owns the root next goes on with it. */

import { agentError } from "../../agent/error.ts";
import { Interaction } from "../../agent/interaction.ts";
import { openedSince, waitsForOwner, withEngine } from "../acting.ts";
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
    const before = new Set(engine.effects({}, { limit: 1000 }).map(({ key }) => key));
    await answer(interaction);
    const { context, value } = interaction.getSnapshot();
    const { listener } = context;
    const heard = listener === null ? undefined : engine.reader.actor(`run/${listener}`);
    const opened = heard ? openedSince(engine, heard.address, before) : [];
    const said = context.answer ? answerText(context.answer) : "";
    return {
      exit: EXIT.done,
      document: {
        interaction: interaction.id,
        state: value,
        answer: context.answer,
        run: listener,
        runState: heard?.state ?? null,
        opened,
      },
      lines: [
        `${screen.style("green", "answered")}  ${oneLine(interaction.id)}: ${oneLine(said)}`,
        heard
          ? `${oneLine(heard.address)}: ${oneLine(heard.state)}`
          : "No run waits for it yet: the one that goes on with the turn gets it.",
        ...waitsForOwner(opened),
      ],
    };
  });
}

/** What is to be done to the interaction. A permission is bound to what the person was shown, so its hash is theirs to give. */
function answerOf(text: string | undefined, { allow, deny, hash, note }: AnswerOptions): (interaction: Interaction) => Promise<void> {
  const refuse = (field: string, problem: string) => agentError("argument_invalid", `${field}: ${problem}`, { details: { path: field } });
  if ([text, allow, deny].filter((said) => said !== undefined).length !== 1) throw refuse("TEXT", "say one of TEXT, --allow and --deny");
  if (text !== undefined) {
    if (note !== undefined) throw refuse("--note", "goes with --allow or --deny; a question is answered by TEXT");
    return (interaction) => interaction.answer(text, hash === undefined ? {} : { hash });
  }
  if (hash === undefined) throw refuse("--hash", "say what is decided about: `holdfast show INTERACTION` gives the hash");
  return (interaction) => interaction.decide(allow === true, note === undefined ? { hash } : { hash, note });
}
