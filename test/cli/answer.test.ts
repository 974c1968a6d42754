import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answerCommand } from "../../src/cli/command/answer.ts";
import type { Screen } from "../../src/cli/screen.ts";
import { type Asked, fakeBackend, type Holdfast, openHoldfast, type TranscriptEntry } from "../../src/index.ts";
import { asks, plot, seal, waits } from "../agent/way.ts";
import { temporaryFolder } from "../backend/survey/folder.ts";
import { holdfast } from "./command.ts";

const PERMISSION: Asked = { id: "write", kind: "permission", question: "May I write?", subject: { path: "/etc" } };

/** A root that nobody owns, whose run waits for a person; how its program opens it, and what its steps were given. */
async function waiting(asked: Asked, more: (opened: Holdfast) => Promise<void> = async () => {}) {
  const root = join(temporaryFolder(), "root");
  const seen: TranscriptEntry[][] = [];
  const play = plot({ "run-1#1": asks(asked) });
  const backend = fakeBackend({
    script: (input) => {
      seen.push([...input.transcript()]);
      return play(input);
    },
  });
  const open = () => openHoldfast({ root, backends: { assistant: backend } });
  const opened = await open();
  const session = await opened.createSession({ backend: "assistant", cwd: root, id: "session-1" });
  const run = await session.send("Go", { runId: "run-1", turnId: "turn-1" });
  await waits(run);
  await more(opened);
  await opened.close();
  return { root, open, seen, call: (...args: string[]) => holdfast([...args, "--root", root]) };
}

describe("holdfast answer", () => {
  it("records an answer for the next owner, whose run goes on with it, once; lists and pages tell what is asked", async () => {
    const { root, open, seen, call } = await waiting({ id: "name", question: "Your name?" });
    const listed = (await call("ls", "interactions", "--state", "open", "--json")).json;
    expect(listed).toMatchObject({
      list: "interactions",
      items: [{ id: "run-1.name", state: "awaited", open: true, kind: "question", question: "Your name?", run: "run-1", answer: null }],
    });
    expect((await call("ls", "interactions")).stdout).toMatch(/run-1\.name +open +question .*run-1 +Your name\?\n\n.*holdfast show/s);
    expect((await call("show", "run-1")).stdout).toMatch(/waits for +Your name\?\n +asked in +interaction\/run-1\.name\n/);
    const refused = await call("answer", "run-1.name", "--allow", "--hash", listed.items[0].hash, "--json");
    expect(refused).toMatchObject({ code: 2, json: { error: { code: "answer_unfit" } } });
    expect((await call("answer", "run-1.name", "Ada", "--json")).json).toEqual({
      interaction: "run-1.name",
      state: "kept",
      answer: { kind: "text", text: "Ada" },
      run: "run-1",
      waiting: "run-1",
    });
    expect(await call("answer", "run-1.name", "Bob", "--json")).toMatchObject({
      code: 2,
      json: { error: { code: "interaction_answered" } },
    });
    await using opened = await open();
    expect(await opened.run("run-1").end()).toMatchObject({ kind: "completed" });
    expect(seen.at(-1)?.map(({ fact }) => fact)).toMatchObject([{ text: "Go" }, { type: "message.added", role: "user", text: "Ada" }]);
    expect(opened.verify().faults).toEqual([]);
    expect(root).toMatch(/root$/);
  });

  it("decides about a permission by the hash of what was shown, also where the turn is sealed", async () => {
    const { open, call } = await waiting(PERMISSION, (opened) => seal(opened.run("run-1")));
    const shown = (await call("show", "run-1.write", "--json")).json;
    expect(shown).toMatchObject({ address: "interaction/run-1.write", open: true, subject: { path: "/etc" }, answer: null });
    const page = (await call("show", "interaction/run-1.write")).stdout;
    expect(page).toContain(`for leave to  {"path":"/etc"}`);
    expect(page).toContain(`answer run-1.write --allow --hash ${shown.hash}`);
    const changed = await call("answer", "run-1.write", "--deny", "--hash", "0".repeat(64), "--json");
    expect(changed).toMatchObject({ code: 2, json: { error: { code: "interaction_changed" } } });
    const denied = await call("answer", "run-1.write", "--deny", "--hash", shown.hash, "--note", "Not on a Friday");
    expect(denied).toMatchObject({ code: 0, stdout: expect.stringContaining("answered  run-1.write: denied: Not on a Friday\n") });
    await using opened = await open();
    const check = await opened.checkContinuation("run-1", { purpose: "handoff" });
    if (check.decision === "park") throw new Error(JSON.stringify(check.reasons));
    const events = [];
    for await (const event of opened.resume(check.continuation)) events.push(event);
    expect(events.filter(({ type }) => type === "permission.decided")).toMatchObject([{ allow: false, note: "Not on a Friday" }]);
  });

  it.each([
    [undefined, {}, "TEXT"],
    ["yes", { allow: true }, "TEXT"],
    ["yes", { note: "so" }, "--note"],
    [undefined, { allow: true }, "--hash"],
  ])("refuses the text %j with %j, naming %s, before anything is opened", async (text, options, path) => {
    const root = join(temporaryFolder(), "none");
    const failure = await answerCommand("run-1.name", text, { root, ...options }, {} as Screen).catch((error) => error);
    expect(failure).toMatchObject({ code: "argument_invalid", details: { path } });
  });
});
