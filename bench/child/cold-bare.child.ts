/** A cold start of Node alone, with nothing to do: what no contestant can save. */

import { writeSync } from "node:fs";

writeSync(1, '{"kind":"accepted"}\n');
