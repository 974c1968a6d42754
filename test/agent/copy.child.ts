/** A process that copies `session-1` of a root as `copy-1` and kills itself at the commit point that it is given. */

import { openHoldfast } from "../../src/index.ts";
import { talker } from "./conversation.ts";

const [root, point] = process.argv.slice(2) as [string, string];
let armed = false;
const holdfast = await openHoldfast({
  root,
  backends: { assistant: talker() },
  probe: (at) => {
    if (armed && at === point) process.kill(process.pid, "SIGKILL");
  },
});
armed = true;
await holdfast.copySession("session-1", { id: "copy-1" });
