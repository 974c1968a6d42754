/** Source: what the pages are made from. */

import type { Command } from "commander";
import type { AnyStateMachine } from "xstate";
import { machines } from "../../machines/index.ts";
import { ENGINE_CODES } from "../../src/actor/error.ts";
import { AGENT_CODES } from "../../src/agent/error.ts";
import { CLI_CODES } from "../../src/cli/error.ts";
import { buildProgram } from "../../src/cli/program.ts";
import type { MachinePaths } from "../../src/testing/paths.ts";
import { explored } from "../paths/explored.ts";
import type { CodeTable } from "./error-page.ts";

export interface Source {
  readonly machines: readonly AnyStateMachine[];
  readonly codes: readonly CodeTable[];
  readonly program: Command;
  /** The paths of each machine; to find them takes a second or two. */
  readonly paths: () => readonly MachinePaths[];
}

export function loadSource(): Source {
  return {
    machines,
    codes: [
      { layer: "engine", codes: ENGINE_CODES },
      { layer: "agent", codes: AGENT_CODES },
      { layer: "command", codes: CLI_CODES },
    ],
    program: buildProgram(),
    paths: explored,
  };
}
