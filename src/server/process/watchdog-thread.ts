/**
 * The program of the watchdog's thread. It is text, so that it is the same from the sources, in the bundle and under a
 * loader, and so that the thread loads nothing else.
 *
 * It counts its own ticks, not seconds: a machine that slept, or a process that was stopped, has made no ticks. The
 * place of a busy main thread is read by a short CPU profile over the inspector protocol: that interrupts loops, regular
 * expressions and native calls alike, opens no port, and costs nothing before it is needed. A pause of the debugger was
 * tried too: it does not come while a regular expression runs.
 */
export const watchdogProgram: string = `
"use strict";
const { writeSync } = require("node:fs");
const { workerData } = require("node:worker_threads");
const { turns, period, limit, seconds, parent, orphanLimit, stopLimit, callAfter, stuckCall, report } = workerData;
let seen = -1;
let still = 0;
let alone = 0;
let stopping = 0;
let locating = false;
let heard = false;
let ears = null;
// From node 23 on no thread hears the signals: there the listeners stay, and a stuck process ends by its limit.
const hears = Number(process.versions.node.split(".")[0]) < 23;

setInterval(() => {
  alone = parent !== null && process.ppid !== parent ? alone + 1 : 0;
  if ((heard && still > 0) || Atomics.load(turns, 2) === 1) stopping++;
  if (alone > orphanLimit || stopping > stopLimit) kill();
  const now = Atomics.load(turns, 0);
  const inspected = Atomics.load(turns, 1) === 1;
  still = now === seen && !inspected ? still + 1 : 0;
  seen = now;
  if (hears && callAfter > 0 && still === callAfter && !heard) {
    for (const ear of ears ?? []) ear.close();
    ears = null;
    callMain();
  } else if (hears && callAfter > 0 && still === 0 && !inspected) ears ??= listen();
  if (limit > 0 && still >= limit && !locating) {
    locating = true;
    locate((stack) => {
      locating = false;
      if (Atomics.load(turns, 0) !== seen) return;
      tell(stack);
      kill();
    });
  }
}, period);

/**
 * Hears the signals to stop beside the main thread. One that came before the main thread gave up its listeners would be lost
 * with them: it is left to them, and the process then has its usual time to stop. node has no public way to hear a
 * signal in a thread; where this one is missing, such a signal is lost.
 */
function listen() {
  try {
    process.noDeprecation = true;
    const { Signal } = process.binding("signal_wrap");
    return [2, 15].map((signal) => {
      const ear = new Signal();
      ear.unref();
      ear.onsignal = () => {
        heard = true;
      };
      ear.start(signal);
      return ear;
    });
  } catch {
    return [];
  }
}

function kill() {
  process.kill(process.pid, "SIGKILL");
}

/** Runs a function in the main thread, which is in a loop or an expression. In a native call it runs after that. */
function callMain() {
  try {
    const { Session } = require("node:inspector");
    const session = new Session();
    session.connectToMainThread();
    session.post("Runtime.evaluate", { expression: "globalThis[Symbol.for(" + JSON.stringify(stuckCall) + ")]?.()" }, () =>
      session.disconnect(),
    );
  } catch {}
}

function tell(stack) {
  const at = stack.find((frame) => !frame.includes("(node:")) ?? stack[0] ?? null;
  const where = at === null ? "" : ", at " + at;
  const line = report === null
    ? "stoa: the process " + process.pid + " ran no turn of its event loop for " + seconds + " s" + where + "; it is killed"
    : JSON.stringify({ at, stack });
  try {
    writeSync(report ?? 2, line + "\\n");
  } catch {}
}

function locate(callback) {
  let done = false;
  const end = (stack) => {
    if (done) return;
    done = true;
    callback(stack);
  };
  setTimeout(end, 3000, []);
  try {
    const { Session } = require("node:inspector");
    const session = new Session();
    session.connectToMainThread();
    session.post("Profiler.enable");
    session.post("Profiler.setSamplingInterval", { interval: 1000 });
    session.post("Profiler.start", () => {
      setTimeout(() => {
        session.post("Profiler.stop", (error, result) => {
          end(error ? [] : stackOf(result.profile));
          session.disconnect();
        });
      }, 100);
    });
  } catch {
    end([]);
  }
}

/** The stack that most samples have, the innermost frame first. */
function stackOf({ nodes, samples = [] }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])));
  const counts = new Map();
  for (const id of samples) counts.set(id, (counts.get(id) ?? 0) + 1);
  const [leaf] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  const stack = [];
  for (let id = leaf; id !== undefined && stack.length < 20; id = parents.get(id)) {
    const { callFrame, positionTicks = [] } = byId.get(id);
    if (callFrame.url === "") continue;
    const [hot] = [...positionTicks].sort((a, b) => b.ticks - a.ticks);
    const first = callFrame.lineNumber + 1;
    const place = hot && hot.line !== first ? hot.line : first + ":" + (callFrame.columnNumber + 1);
    const file = callFrame.url.replace(/^file:\\/\\//, "");
    stack.push((callFrame.functionName || "a function") + " (" + file + ":" + place + ")");
  }
  return stack;
}
`;
