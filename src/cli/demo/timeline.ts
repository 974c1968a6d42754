/** Timeline: what happens, told line by line as it happens, with the progress of whoever works below it. */

import { widthOf, wrap } from "../format.ts";
import type { Screen } from "../screen.ts";
import { progressOf } from "../survey.ts";
import type { Letter } from "./child.ts";
import type { Message } from "./message.ts";

const COLOURS = { A: "yellow", B: "green", C: "magenta" } as const;

export class Timeline {
  readonly #screen: Screen;
  readonly #started = performance.now();
  /** Steps of the survey; null before the folder is listed. */
  steps: number | null = null;
  /** The step that began last. */
  step = 0;
  files = { done: 0, total: 0 };

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** One line, or as many as it takes, with a hanging indent. */
  tell(letter: Letter, text: string): void {
    const seconds = ((performance.now() - this.#started) / 1000).toFixed(1).padStart(5);
    const margin = `${seconds} s  ${letter}  `;
    const [first = "", ...rest] = wrap(text, this.#screen.proseColumns - widthOf(margin));
    this.#screen.line(`${this.#screen.style("dim", `${seconds} s`)}  ${this.#screen.style(["bold", COLOURS[letter]], letter)}  ${first}`);
    for (const line of rest) this.#screen.line(" ".repeat(widthOf(margin)) + line);
  }

  /** Progress between the lines. */
  pass(letter: Letter, message: Extract<Message, { type: "step" | "progress" }>): void {
    if (message.type === "step") {
      this.step = message.step;
      this.steps = message.of ?? this.steps;
      return;
    }
    const progress = progressOf(message.output);
    if (!progress) return;
    this.files = { done: progress.done, total: progress.total };
    this.#screen.bar.update(`${letter} ${progress.label}`, progress.done, progress.total);
  }

  /** Says that something is being checked, until the next line. */
  checking(what: string): void {
    this.#screen.bar.update(what);
  }
}
