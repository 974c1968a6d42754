/**
 * Output: what becomes of what the command writes.
 *
 * Guarantees: a stream that cannot be written to never ends the process by itself. Whoever reads stdout and has enough
 * (`holdfast ls | head -1`) is no fault; anything else is told on stderr, in one line, and is the command's failure.
 */

import { cliError } from "./error.ts";
import { EXIT, type Exit } from "./exit.ts";

export class Output {
  #failure: NodeJS.ErrnoException | undefined;

  constructor() {
    process.stdout.on("error", (error) => {
      this.#failure ??= error;
    });
    // There is nowhere left to tell it.
    process.stderr.on("error", () => {});
  }

  /** The exit code, once everything was written. `report` tells of what could not be. */
  async settle(exit: Exit, report: (error: Error) => Exit): Promise<Exit> {
    await new Promise<void>((resolve) => void process.stdout.write("", () => resolve()));
    const failure = this.#failure;
    if (!failure || failure.code === "EPIPE") return exit;
    const told = report(cliError("output_unwritable", `stdout cannot be written: ${failure.message}`, { cause: failure }));
    return exit === EXIT.done ? told : exit;
  }
}
