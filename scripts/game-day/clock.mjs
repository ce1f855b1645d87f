/**
 * Preloaded into the processes of a machine: shifts their clock by the milliseconds in the file GAME_DAY_CLOCK, which is read
 * four times a second. Only `Date` is shifted. Timers and `performance.now()` do not change, as when an operating system's
 * clock is set; neither do times that native code takes, such as those of files and of certificates.
 */
import { readFileSync } from "node:fs";

let shift = 0;
const real = Date.now;
Date.now = () => real() + shift;
globalThis.Date = new Proxy(Date, {
  construct: (target, args, self) => Reflect.construct(target, args.length === 0 ? [Date.now()] : args, self),
  apply: () => new Date().toString(),
});
const read = () => {
  try {
    shift = Number(readFileSync(process.env.GAME_DAY_CLOCK, "utf8"));
  } catch {
    // The run has ended.
  }
};
read();
setInterval(read, 250).unref();
