import { existsSync } from "node:fs";
import { aptInstall } from "./apt.mjs";

const shell = "/usr/bin/chromium-headless-shell";
const whole = "/usr/bin/chromium";

/**
 * The browser for tests that need a real one: a program to start, not a server. The shell is Chromium without the windows of
 * a desktop, which nobody sees in a test: it starts with less than half of the CPU time.
 */
export default {
  name: "chromium",
  env: "STOA_TEST_CHROMIUM",
  async start({ log }) {
    if (existsSync(shell)) return { value: shell };
    if (existsSync(whole)) return { value: whole };
    await aptInstall(["chromium-headless-shell"], log);
    return { value: shell };
  },
};
