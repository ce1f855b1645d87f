/** `npm start`: the example application, from a fresh checkout with nothing but Node and npm. */
import { spawn } from "node:child_process";
import { exitCodeOf, onOrphaned, root } from "./process.mjs";
import { ensureBuilt, ensureInstalled } from "./setup.mjs";

try {
  await ensureInstalled();
  await ensureBuilt({ types: false });
} catch (error) {
  console.error(error.message);
  process.exit(1);
}

// In its own process group, so that Ctrl-C in a terminal reaches it through us alone. A second signal means
// "at once" to the server, and Ctrl-C under npm would arrive twice or three times: from the terminal and from npm.
const child = spawn(process.execPath, ["--import", "tsx", "examples/books/main.ts", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  detached: true,
});

const echo = 500;
let last = { signal: "", time: 0 };
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    const now = performance.now();
    if (signal === last.signal && now - last.time < echo) return;
    last = { signal, time: now };
    child.kill(signal);
  });
}
onOrphaned(() => child.kill("SIGTERM"));
child.on("error", (error) => {
  console.error(error.message);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? exitCodeOf(signal)));
