import { existsSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { loadAddon } from "../../src/server/native/addon.js";
import { runCommand } from "./run-command.js";

afterEach(() => vi.unstubAllEnvs());

describe.skipIf(process.platform !== "linux")("stoa build-native", () => {
  it("A machine without a compiler gets one line that says so", async () => {
    vi.stubEnv("CC", "/no/such/compiler");
    const { code, out, err } = await runCommand("/", "build-native");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^stoa: (?:no C compiler: \/no\/such\/compiler was not found|the headers of Node\.js .*)\n$/);
  });

  it.skipIf(typeof loadAddon() === "string")("The addon is built, and its file is printed", async () => {
    const { code, out, err } = await runCommand("/", "build-native");
    expect([code, err]).toEqual([0, "servers use it from their next start on\n"]);
    expect(existsSync(out.trim())).toBe(true);
  });
});
