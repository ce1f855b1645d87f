import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { neededServices, startServices } from "../../scripts/services/index.mjs";
import { deferred } from "../../src/kit/deferred.js";

/** A real server in a process of its own, as a service would be. */
const echo = {
  name: "echo",
  env: "STOA_TEST_ECHO",
  async start({ folder, port }: { folder: string; port: number }) {
    const code = `require("net").createServer((s) => s.end(${JSON.stringify(folder)})).listen(${port}, "127.0.0.1", () => console.log("ready"))`;
    const child = spawn(process.execPath, ["-e", code]);
    await once(child.stdout, "data");
    const stop = async () => {
      child.kill();
      await once(child, "exit");
    };
    return { value: `http://127.0.0.1:${port}/${folder}`, stop };
  },
};
const missing = {
  name: "missing",
  env: "STOA_TEST_MISSING",
  start: async () => {
    throw new Error("not on this machine");
  },
};

const behind = {
  ...echo,
  name: "behind",
  env: "STOA_TEST_BEHIND",
  needs: ["echo"],
  start: async ({ env }: { env: Record<string, string> }) => ({ value: `through ${env["STOA_TEST_ECHO"]}` }),
};

describe("starting services", () => {
  it("A started service passes on its address, and is removed with its folder", async () => {
    const running = await startServices([echo]);
    const url = new URL(running.env["STOA_TEST_ECHO"] as string);
    expect(existsSync(url.pathname.slice(1))).toBe(true);
    expect(await connects(Number(url.port))).toBe(true);
    await running.stop();
    await running.stop();
    expect(existsSync(url.pathname.slice(1))).toBe(false);
    expect(await connects(Number(url.port))).toBe(false);
  });

  it("A service that is unavailable is named, and the others are started", async () => {
    const running = await startServices([missing, echo]);
    await running.stop();
    expect(running.unavailable).toEqual([{ name: "missing", reason: "not on this machine" }]);
    expect(Object.keys(running.env)).toEqual(["STOA_TEST_ECHO"]);
  });

  it("Services start side by side", async () => {
    const begun = [1, 2].map(() => deferred<void>());
    const pair = begun.map(({ resolve }, index) => ({
      name: `half ${index}`,
      env: `STOA_TEST_HALF_${index}`,
      async start() {
        resolve();
        await begun[1 - index]!.promise;
        return { value: "both have begun" };
      },
    }));
    const running = await startServices(pair);
    expect(Object.values(running.env)).toEqual(["both have begun", "both have begun"]);
  });

  it("A service gets the address of the one it needs, or does without it", async () => {
    const running = await startServices([echo, behind]);
    await running.stop();
    expect(running.env["STOA_TEST_BEHIND"]).toBe(`through ${running.env["STOA_TEST_ECHO"]}`);
    const alone = await startServices([{ ...missing, name: "echo" }, behind]);
    expect(alone.unavailable.map(({ reason }) => reason)).toEqual(["not on this machine", "it needs echo"]);
  });
});

describe("choosing services", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-tests-"));
    await writeFile(join(folder, "wire.test.ts"), 'const url = service("echo");');
    await writeFile(join(folder, "plain.test.ts"), "");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ["without a filter", [], ["echo"]],
    ["with a filter that chooses the file", ["wire"], ["echo"]],
    ["with a filter that leaves the file out", ["plain"], []],
    ["with a filter that is the name of a test", ["a name"], ["echo"]],
  ])("The services that the test files request are chosen, %s", async (_, filters, names) => {
    const needed = await neededServices([folder], filters, [echo, missing]);
    expect(needed.map(({ name }) => name)).toEqual(names);
  });

  it("The services that the chosen ones need are chosen too", async () => {
    await writeFile(join(folder, "behind.test.ts"), 'const url = service("behind");');
    const needed = await neededServices([folder], ["behind.test"], [echo, behind, missing]);
    expect(needed.map(({ name }) => name)).toEqual(["echo", "behind"]);
  });
});

async function connects(port: number): Promise<boolean> {
  const { connect } = await import("node:net");
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.resume();
  });
}
