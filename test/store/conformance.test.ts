import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { memoryStore } from "../../src/store/memory.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { exerciseStore } from "../../src/testing/exercise-store.ts";

const directory = mkdtempSync(join(tmpdir(), "holdfast-conformance-"));
let files = 0;
afterAll(() => rmSync(directory, { recursive: true }));

exerciseStore("memory", () => memoryStore(), { describe, test });
exerciseStore("sqlite", () => openSqliteStore({ file: join(directory, `${files++}.db`), synchronous: "normal" }), { describe, test });
