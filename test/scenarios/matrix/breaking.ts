/** Acts that break something: the store, what is stored, the backend. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import Database from "better-sqlite3";
import { run } from "../../../machines/index.ts";
import { type ConfigurationChanges, fakeComposition } from "../../../src/index.ts";
import { SESSION } from "../turn.ts";
import type { Stage } from "./stage.ts";

/** Commits with this fact fail as on a full disk. */
function failOn(play: Stage, fact: string): void {
  play.world.probe = (point, { entries = [] }) => {
    if (point === "commit.inside" && entries.some((entry) => entry.facts.includes(`"${fact}"`))) throw new Error("disk full");
  };
}

const file = (play: Stage) => join(play.world.root, "holdfast.db");

/** The database with what is not merged into it yet. */
function bytesOf(play: Stage): string {
  const hash = createHash("sha256");
  for (const path of [file(play), `${file(play)}-wal`]) hash.update(existsSync(path) ? readFileSync(path) : "");
  return hash.digest("hex");
}

/**
 * Another connection holds the write lock in a thread of its own; there it works, from the moment that it is told to, for as long as
 * SQLite needs to count, and then lets go.
 */
const BUSY_THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const Database = require(workerData.driver);
const db = new Database(workerData.file);
db.exec("BEGIN IMMEDIATE");
parentPort.postMessage("locked");
db.prepare("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT max(i) FROM n").get(workerData.count);
db.exec("COMMIT");
db.close();
`;
const COUNT = 500_000;

export const breaking = {
  "lose prepare"(play: Stage) {
    delete play.backend.prepare;
  },
  /** The backend goes on as if nothing were wrong when a tool's call cannot be committed. */
  "swallow failures of tools"(play: Stage) {
    const step = play.backend.step;
    play.backend.step = (input) => step(input).catch(() => ({ next: "continue", remainingSteps: 2 }));
  },
  "fail each tool's settling": (play: Stage) => failOn(play, "tool.settled"),
  "fail the seal": (play: Stage) => failOn(play, "run.sealed"),
  "mend the store"(play: Stage) {
    play.world.probe = undefined;
  },
  "delete the source's composition"(play: Stage) {
    play.damage.push("row_missing");
    return play.world.tamper("DELETE FROM blobs WHERE digest = ?", play.world.context("run/original-run").composition.body);
  },
  "change one byte of the source's journal"(play: Stage) {
    play.damage.push("journal_damaged");
    return play.world.tamper(
      "UPDATE journal SET event = replace(event, 'long job', 'song job') WHERE actor = 'run/original-run' AND seq = 1",
    );
  },
  /** Until it is let go by an act. */
  "lock the store"(play: Stage) {
    const db = new Database(file(play));
    db.exec("BEGIN IMMEDIATE");
    play.undo = () => {
      play.undo = undefined;
      db.close();
    };
  },
  "let go of the store": (play: Stage) => play.undo?.(),
  /** For less than the bound of a wait. */
  async "lock the store for a moment"(play: Stage) {
    const driver = createRequire(import.meta.url).resolve("better-sqlite3");
    const thread = new Worker(BUSY_THREAD, { eval: true, workerData: { file: file(play), driver, count: COUNT } });
    await new Promise((locked, failed) => thread.once("message", locked).once("error", failed));
  },
  "another prompt is composed"(play: Stage) {
    play.composes = fakeComposition({ promptHash: `sha256:${"1".repeat(64)}` });
  },
  "the workspace changes"(play: Stage) {
    play.around.workspace = "/elsewhere";
  },
  "the workspace is back"(play: Stage) {
    play.around.workspace = "/project";
  },
  "a tool goes"(play: Stage) {
    play.around.tools = [];
  },
  "a tool comes"(play: Stage) {
    play.around.tools = ["note", "another"];
  },
  "the tools are back"(play: Stage) {
    play.around.tools = ["note"];
  },
  "work goes on in the background"(play: Stage) {
    play.around.backgroundSettled = false;
  },
  "the background is quiet"(play: Stage) {
    play.around.backgroundSettled = true;
  },
  "the record of denials breaks"(play: Stage) {
    play.denials = "broken";
  },
  "the record of denials is mended"(play: Stage) {
    play.denials = "none";
  },
  "another folder is configured": (play: Stage) => configure(play, { cwd: "/elsewhere" }),
  "another permission mode is configured": (play: Stage) => configure(play, { permissionMode: "bypass" }),
  "another backend is configured": (play: Stage) => configure(play, { backend: "other" }),
  "the session is configured as before": (play: Stage) => configure(play, play.begunWith),
  /** Gives the root up and keeps in mind what is stored. */
  async close(play: Stage) {
    await play.world.holdfast.close();
    play.bytes = bytesOf(play);
  },
  async "take the root"(play: Stage) {
    await play.world.open();
    return "taken";
  },
  "are the bytes the same": (play: Stage) => bytesOf(play) === play.bytes,
  async "a newer schema wrote the root"(play: Stage) {
    await breaking.close(play);
    schema(play, 1);
    play.bytes = bytesOf(play);
  },
  "the schema is as before": (play: Stage) => schema(play, -1),
  async "a newer machine wrote the run"(play: Stage) {
    await breaking.close(play);
    version(play, "99");
    play.bytes = bytesOf(play);
  },
  async "an older machine without a migration wrote the run"(play: Stage) {
    await breaking.close(play);
    version(play, "0");
  },
  "the run's version is as before": (play: Stage) => version(play, run.version as string),
};

function configure(play: Stage, changes: ConfigurationChanges): Promise<void> {
  return play.world.holdfast.session(SESSION.id).configure(changes);
}

function schema(play: Stage, by: number): void {
  const db = new Database(file(play));
  db.pragma(`user_version = ${(db.pragma("user_version", { simple: true }) as number) + by}`);
  db.close();
}

function version(play: Stage, is: string): void {
  play.world.tamper("UPDATE actors SET version = ? WHERE address = 'run/original-run'", is);
  play.world.tamper("UPDATE journal SET version = ? WHERE actor = 'run/original-run'", is);
}
