import { App } from "stoa";
import { expect, it, vi } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { AppHost } from "../../src/app/host.js";
import { defaultSettings } from "../../src/app/settings.js";

const { written } = vi.hoisted(() => ({ written: [] as string[] }));

vi.mock("node:tty", async (load) => ({ ...(await load<object>()), isatty: () => true }));
vi.mock("node:fs", async (load) => ({
  ...(await load<object>()),
  writeSync(_fd: number, bytes: Buffer, start: number, length: number) {
    written.push(bytes.toString("utf8", start, start + length));
    return length;
  },
}));

it.each([
  ["production", /^\{.*"msg":"ready"/],
  ["development", /^(?!\{).*ready/],
] as const)("The log of an application in %s has the format for its reader, in a terminal too", async (env, line) => {
  written.length = 0;
  const host = new AppHost([]);
  host.configure({ ...defaultSettings(), env });
  host.logger.info("ready");
  await vi.waitFor(() => expect(written.join("")).toMatch(line));
});

it("The log has the format of the settings, even if an engine was enabled before", async () => {
  written.length = 0;
  const app = new App().enableDatabase("postgres://localhost/none");
  const host = hostOf(app);
  host.configure({ ...defaultSettings(), env: "production" });
  host.logger.info("ready");
  await vi.waitFor(() => expect(written.join("")).toMatch(/^\{.*"msg":"ready"/));
});

it("Each log line of an application with a name holds the name", async () => {
  written.length = 0;
  const host = new AppHost([]);
  host.configure({ ...defaultSettings(), env: "production", name: "Bookshop" });
  host.logger.info("ready");
  await vi.waitFor(() => expect(written.join("")).toMatch(/^\{.*"msg":"ready".*"name":"Bookshop"/));
});
