import { existsSync } from "node:fs";
import { aptInstall } from "./apt.mjs";

const path = "/usr/bin/chromium";

/** The browser for tests that need a real one: a program to start, not a server. */
export default {
  name: "chromium",
  env: "STOA_TEST_CHROMIUM",
  async start({ log }) {
    if (!existsSync(path)) await aptInstall(["chromium"], log);
    return { value: path };
  },
};
