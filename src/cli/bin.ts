#!/usr/bin/env node
/**
 * Bin: refuses an old Node in one line, and only then loads anything that an old Node could not read.
 *
 * Nothing here may need a new Node, not even to be parsed: no static import, no type, no new syntax.
 */

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`holdfast needs Node 22.19 or newer; this is Node ${process.versions.node} (${process.execPath}).\n`);
  process.exitCode = 2;
} else {
  // A signal that comes while the rest is loaded is answered like one that comes later; see main.ts.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  let interrupted = false;
  const remember = () => {
    interrupted = true;
  };
  for (const name of signals) process.on(name, remember);
  const { main } = await import("./main.ts");
  process.exitCode = await main(process.argv.slice(2), () => {
    for (const name of signals) process.off(name, remember);
    return interrupted;
  });
}

export {};
