/** Durable machines without agents: the embedding example of `holdfast/actors`. */

// ---
import { openActors } from "holdfast/actors";
import { order } from "./order.ts";

const actors = await openActors({
  root: process.argv[2] ?? "./state",
  machines: [order],
  effects: {
    // Runs after the commit that requested it; `key` stays the same over every retry and restart.
    chargeCard: async ({ params, key }: { params: { amount: number }; key: string }) => `charged ${params.amount} under ${key}`,
  },
});

const seventeen = await actors.create(order, "order-17", { input: { total: 10 } });
const answer = await seventeen.send({ type: "order.pay" }, { key: "pay-1" }); // durable when it resolves; a repeat is answered the same
const paid = await seventeen.waitFor((snapshot) => snapshot.matches("paid"));
console.log(answer.kind, "·", paid.context.receipt);

for await (const entry of seventeen.watch()) console.log(entry.seq, entry.event.type); // ends with a final actor's last entry
console.log("verified:", actors.verify().ok); // every event folded through the machine again

await actors.close();
