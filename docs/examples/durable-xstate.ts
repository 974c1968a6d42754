/** The guide's program: a machine with a timer and an effect, a process that ends, and a next version that goes on. */

// ---
import { checkUpgrade, openActors } from "holdfast/actors";
import { simulatedClock } from "holdfast/testing";
import { trial as first } from "./trial-1.ts";
import { trial as second } from "./trial-2.ts";

const root = process.argv[2] ?? "./state";
const clock = simulatedClock(Date.UTC(2026, 0, 1)); // so that two weeks pass in a moment; leave it out for the real time
const DAY_MS = 86_400_000;

const effects = {
  charge: async ({ params, key }: { params: { customer: string; amount: number }; key: string }) =>
    `${params.customer} paid ${params.amount} (${key})`, // give `key` to the payment provider: a repetition is then recognised
  remind: async ({ params }: { params: { customer: string } }) => {
    console.log("reminded", params.customer);
    return null;
  },
};

// Monday: version 1 is deployed. A trial begins, and the process ends.
const before = await openActors({ root, machines: [first], effects, clock });
if (before.list({ machine: "trial", status: "final" }).some(({ id }) => id === "ada")) {
  await before.close();
  console.log(`ada has ended; remove ${root} to see it again`);
  process.exit();
}
await before.create(first, "ada", { input: { customer: "Ada", price: 12 } });
console.log("due", new Date(before.timers()[0]?.dueMs ?? 0).toISOString());
await before.close();

// A week later: what would version 2 make of what is stored? Nothing is written for the answer.
clock.advance(7 * DAY_MS);
for (const { actor, verdict } of checkUpgrade({ root, machines: [second] })) console.log("upgrade check:", actor, verdict);

// Version 2 is deployed. Opening migrates the trial, and its timers go on.
const after = await openActors({ root, machines: [second], effects, clock });
const ada = after.get(second, "ada");
if (!ada) throw new Error("the trial is still there");
ada.on("trial.converted", (fact) => console.log("converted:", fact.receipt, fact.currency));
console.log("now in", JSON.stringify(ada.getSnapshot().value), "· can be cancelled:", ada.can({ type: "trial.cancel" }));

clock.advance(5 * DAY_MS); // day 12: the reminder
await ada.waitFor((snapshot) => snapshot.matches({ trying: "reminded" }));
clock.advance(2 * DAY_MS); // day 14: the trial ends
await ada.waitFor((snapshot) => snapshot.matches("paid"));

for await (const entry of ada.watch()) console.log(entry.seq, entry.event.type); // ends, for the trial is final
console.log("verified:", after.verify().ok);
await after.close();
