/** A cold start by hand: the next step of a stored actor. Arguments: database, number of the event, and `zod` to import that too. */

import { writeSync } from "node:fs";
import Database from "better-sqlite3";
import { createActor } from "xstate";
import { eventAt } from "../machine/event.ts";
import { naive } from "../machine/naive.ts";

const [file = "", index, zod] = process.argv.slice(2);
if (zod === "zod") await import("zod");
const db = new Database(file);
db.pragma("synchronous = FULL");
const row = db.prepare<[string], { snapshot: string }>("SELECT snapshot FROM actors WHERE id = ?").get("actor-0");
const actor = createActor(naive, { snapshot: JSON.parse(row?.snapshot ?? "") }).start();
actor.send(eventAt(Number(index)));
db.prepare("UPDATE actors SET snapshot = ? WHERE id = ?").run(JSON.stringify(actor.getPersistedSnapshot()), "actor-0");
writeSync(1, '{"kind":"accepted"}\n');
db.close();
