/** Tests of a durable machine: time, failing storage, a restart, and a machine that is not pure. */

// ---
import { faultPoints, memoryStore, openMemoryActors, purityTrap, simulatedClock } from "holdfast/testing";
import { trial } from "./trial-2.ts";

const DAY_MS = 86_400_000;
const clock = simulatedClock();
const store = memoryStore(); // outlives an engine, as a directory would
const points = faultPoints();
const charged: string[] = [];
const effects = {
  charge: async ({ key }: { key: string }) => {
    charged.push(key);
    return "receipt";
  },
  remind: async () => null,
};
// Transitions that read the time or roll dice fail here, before they make a journal that cannot be folded.
const options = { store, machines: [trial], effects, clock, enclose: purityTrap, probe: points.probe };

// Storage fails in the middle of a commit: the call rejects, and nothing of it happened.
const first = await openMemoryActors(options);
points.throwAt("commit.inside", new Error("disk full"));
const input = { customer: "Ada", price: 12, currency: "EUR" };
console.log("rejected:", await first.create(trial, "ada", { input }).catch((error: { code: string }) => error.code));
await first.create(trial, "ada", { input });

// The result of an effect is lost with its process: the next opening starts it again, under the same key.
clock.advance(12 * DAY_MS);
const ada = first.get(trial, "ada");
await ada?.waitFor((snapshot) => snapshot.matches({ trying: "reminded" }));
const begun = points.reached("effect.before", { where: ({ effect }) => effect?.name === "charge" });
points.throwAt("effect.after", new Error("killed"), { where: ({ effect }) => effect?.name === "charge" });
clock.advance(2 * DAY_MS);
await begun;
await first.close();

const second = await openMemoryActors(options);
const again = second.get(trial, "ada");
await again?.waitFor((snapshot) => snapshot.matches("paid"));
console.log("charged", charged.length, "times under", new Set(charged).size, "key");
console.log("verified:", second.verify().ok);
await second.close();
