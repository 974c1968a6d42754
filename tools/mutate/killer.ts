/**
 * Killer: the tests that must notice a mutant. First the rows of its machine, then the scenarios; nothing that takes what it expects from
 * the machine itself, and no generated path.
 *
 * One vitest runs them all, one worker at a time, which gets the mutant's name as it starts. A test stops the run by its failure.
 */

import { createVitest, type Reporter, type TestCase, type TestModule, type TestSuite, type Vitest } from "vitest/node";
import { machines } from "../../machines/index.ts";
import { ROWS } from "../../test/scenarios/matrix/run.ts";
import { ROOT } from "../command.ts";
import { standInPlugin } from "./plugin.ts";
import { MUTANT } from "./stand-in.ts";

/** In the order of their cost. */
export const STAGES = ["rows", "scenarios"] as const;

export type Stage = (typeof STAGES)[number];

const filesOf = (stage: Stage, machine: string): readonly string[] =>
  stage === "rows" ? [`test/machines/${machine}.test.ts`] : ["test/scenarios/matrix.test.ts", "test/agent/"];

/** A text as a pattern of exactly it. */
const exactly = (text: string) => text.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");

/** Tests that do not count, by how their names end. */
const LEFT_OUT: Readonly<Record<Stage, readonly RegExp[]>> = {
  // They hold a machine against itself.
  rows: [
    /takes every one of its transitions in a row of this table/,
    /has each guard say yes and no in a row of this table/,
    /has a row for every state in which it can rest/,
    /is listed/,
  ],
  scenarios: [
    // Their acts come from a model that the same machines make. Vitest cuts the long name of a row.
    ...ROWS.flatMap((row) => ("path" in row && !row.wholeTurns ? [new RegExp(exactly(`row ${row.row}, ${row.decision}`))] : [])),
    /row \d+, \w+, by a backend that drives whole .*/,
    /has every number, and each decision has its row and its path/,
    /says which decision has no row, which has no path, and which row has none/,
    /takes its paths from a model of session, runs and handoff that is bounded/,
    /fails where what is seen is not what is expected, and says so/,
    // Processes of their own would have the whole machine.
    /row 25, resume_by_many: 32 processes.*/,
    /row 35, crash at every commit point: .*/,
    /leaves all of the copy or nothing of it/,
  ],
};

const ending = (patterns: readonly RegExp[]) => new RegExp(`(?:${patterns.map(({ source }) => source).join("|")})$`);

/** Says which test fails first, if one does. */
export class Killer {
  readonly #vitest: Vitest;
  readonly #failures: Failures;

  private constructor(vitest: Vitest, failures: Failures) {
    this.#vitest = vitest;
    this.#failures = failures;
  }

  static async open(): Promise<Killer> {
    const failures = new Failures();
    const names = new RegExp(`^(?!.*${ending([...LEFT_OUT.rows, ...LEFT_OUT.scenarios]).source})`);
    const vitest = await createVitest(
      "test",
      {
        root: ROOT,
        watch: false,
        reporters: [failures],
        silent: true,
        bail: 1,
        maxWorkers: 1,
        testNamePattern: names,
        testTimeout: 60_000,
      },
      { plugins: [standInPlugin(machines.map(({ id }) => id))] },
    );
    await vitest.standalone();
    const killer = new Killer(vitest, failures);
    await killer.#demandLeftOut();
    return killer;
  }

  /** Runs a stage against a mutant, or against the machines as they are. */
  async killedBy(stage: Stage, machine: string, mutant?: string): Promise<string | undefined> {
    if (mutant === undefined) delete process.env[MUTANT];
    else process.env[MUTANT] = mutant;
    this.#failures.clear();
    await this.#vitest.runTestSpecifications(await this.#vitest.globTestSpecifications([...filesOf(stage, machine)]));
    return this.#failures.first;
  }

  /** Throws where no test is called as one that is left out: one that was given another name would count from then on. */
  async #demandLeftOut(): Promise<void> {
    const files = new Set(STAGES.flatMap((stage) => machines.flatMap(({ id }) => filesOf(stage, id))));
    const { testModules } = await this.#vitest.collectTests(await this.#vitest.globTestSpecifications([...files]));
    const names = testModules.flatMap(({ children }) => [...children.allTests()].map(({ fullName }) => fullName));
    for (const pattern of STAGES.flatMap((stage) => LEFT_OUT[stage]))
      if (!names.some((name) => ending([pattern]).test(name))) throw new Error(`no test's name ends with ${pattern.source}`);
  }

  async close(): Promise<void> {
    await this.#vitest.close();
  }
}

/** What failed in the run that is under way; what vitest returns of a run has earlier ones in it. */
class Failures implements Reporter {
  first: string | undefined;

  clear(): void {
    this.first = undefined;
  }

  onTestCaseResult(test: TestCase): void {
    if (test.result().state === "failed") this.first ??= test.fullName;
  }

  onTestSuiteResult(suite: TestSuite): void {
    this.#note(suite.fullName, suite.errors());
  }

  /** A file fails as a whole where a situation that its rows begin with cannot be reached. */
  onTestModuleEnd(module: TestModule): void {
    this.#note(module.relativeModuleId, module.errors());
  }

  onTestRunEnd(_: readonly TestModule[], errors: readonly { readonly message: string }[]): void {
    this.#note("outside of a test", errors);
  }

  #note(where: string, [error]: readonly { readonly message: string }[]): void {
    if (error) this.first ??= `${where}: ${error.message}`;
  }
}
