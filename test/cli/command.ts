/** The command, in this process or in one of its own, and roots for it to work on. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Run } from "../../src/agent/run.ts";
import type { SurveyOptions } from "../../src/backend/survey.ts";
import { main } from "../../src/cli/main.ts";
import { type Holdfast, openHoldfast, surveyBackend } from "../../src/index.ts";

export const bin = fileURLToPath(new URL("../../src/cli/bin.ts", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as JSON; undefined where it is anything but one document. */
  readonly json: any;
}

export interface CallOptions {
  readonly cwd?: string;
}

export interface ProcessOptions extends CallOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Called with all of stderr so far, whenever there is more. */
  readonly onStderr?: (text: string, child: ChildProcess) => void;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Carries out `holdfast ARGS` in this process, one at a time. Each command is also called once, to its end, with `holdfastProcess`:
 * only there can be seen that it ends, that its output arrives, and its lock.
 */
export function holdfast(args: readonly string[], options: CallOptions = {}): Promise<Ended> {
  const ended = last.then(() => carryOut(args, options.cwd ?? process.cwd()));
  last = ended.catch(() => undefined);
  return ended;
}

async function carryOut(args: readonly string[], cwd: string): Promise<Ended> {
  const [home, stdout, stderr] = [process.cwd(), capture(process.stdout), capture(process.stderr)];
  try {
    process.chdir(cwd);
    const code = await main(args);
    return endedWith(code, stdout.text, stderr.text);
  } finally {
    process.chdir(home);
    for (const captured of [stdout, stderr]) captured.restore();
  }
}

/** What is written to a stream, instead of writing it. */
function capture(stream: NodeJS.WriteStream) {
  const { write } = stream;
  const listeners = stream.listeners("error");
  const captured = {
    text: "",
    restore() {
      stream.write = write;
      // The command has a process for itself, and never takes them away.
      for (const listener of stream.listeners("error")) if (!listeners.includes(listener)) stream.off("error", listener as () => void);
    },
  };
  stream.write = ((text: string, ...rest: unknown[]) => {
    captured.text += text;
    const done = rest.at(-1);
    if (typeof done === "function") done();
    return true;
  }) as typeof write;
  return captured;
}

/** Carries out `holdfast ARGS` in a process of its own. */
export function holdfastProcess(args: readonly string[], options: ProcessOptions = {}): Promise<Ended> {
  const { FORCE_COLOR: _, NO_COLOR: __, ...env } = process.env;
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: options.cwd,
    env: { ...env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    options.onStderr?.(stderr, child);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(endedWith(code, stdout, stderr)));
  });
}

function endedWith(code: number | null, stdout: string, stderr: string): Ended {
  return { code, stdout, stderr, json: documentOf(stdout) };
}

function documentOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A runtime in this process that owns the root until the test ends. */
export async function owner(root: string, options: Partial<SurveyOptions> = {}): Promise<Holdfast> {
  const opened = await openHoldfast({
    root,
    backends: { survey: surveyBackend({ report: join(root, "reports", "report.md"), ...options }) },
  });
  onTestFinished(() => opened.close());
  return opened;
}

/** A root whose only turn is sealed, and its run. Nobody owns it any more. */
export async function sealedRun(root: string, cwd: string): Promise<string> {
  const started = Promise.withResolvers<Run>();
  const sealed = Promise.withResolvers<void>();
  const gate: NonNullable<SurveyOptions["gate"]> = async (moment) => {
    if (moment.at !== "step" || moment.step !== 2) return;
    const handoff = await (await started.promise).requestHandoff();
    const seal = async () => {
      await handoff.ready;
      await handoff.commit();
      await handoff.sealed;
    };
    seal().then(sealed.resolve, sealed.reject);
  };
  const opened = await openHoldfast({ root, backends: { survey: surveyBackend({ report: join(root, "reports", "report.md"), gate }) } });
  const session = await opened.createSession({ backend: "survey", cwd });
  const run = await session.send("Survey it.");
  started.resolve(run);
  await sealed.promise;
  await opened.close();
  return run.id;
}

/** A root whose only turn was handed off and completed; its two runs. */
export async function handedOff(root: string, cwd: string): Promise<{ readonly run: string; readonly successor: string }> {
  const run = await sealedRun(root, cwd);
  const opened = await openHoldfast({ root, backends: { survey: surveyBackend({ report: join(root, "reports", "report.md") }) } });
  const check = await opened.checkContinuation(run, { purpose: "handoff" });
  if (check.decision === "park") throw new Error(JSON.stringify(check.reasons));
  for await (const _ of opened.resume(check.continuation));
  await opened.close();
  return { run, successor: check.continuation.runId };
}

/** Files of a small project, with everything that a survey looks for. */
export const PROJECT: Readonly<Record<string, string>> = {
  "README.md": "# A project\n\nSee [the guide](docs/guide.md) and [nothing](docs/gone.md).\n",
  "docs/guide.md": "# Guide\n\nLast line without an end",
  "src/a file.ts": "export const a = 1;\n",
  "src/b.ts": "export const b = 2;\n",
  "src/copy of b.ts": "export const b = 2;\n",
  "src/größe.ts": "// nothing\n\n\n",
  "data.bin": "\u0000\u0001\n\u0002\n",
  "empty.txt": "",
  "node_modules/left/out.js": "1\n",
  ".git/config": "[core]\n",
};

/** A folder's files by name, `count` of them. */
export function manyFiles(count: number): Record<string, string> {
  const name = (index: number) => `part-${Math.floor(index / 100)}/file-${index}.txt`;
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), `${index}\n`.repeat((index % 7) + 1)]));
}
