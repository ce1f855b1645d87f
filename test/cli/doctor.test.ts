import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { checkPackages, fits } from "../../src/cli/doctor/packages.js";
import { defineSettings } from "../../src/validation/settings.js";
import { makeFolder, runCommand } from "./run-command.js";

describe("stoa doctor", () => {
  it("An application whose engines can be reached is well", async () => {
    const folder = await makeFolder({
      "app.mjs": `export const app = new App().enableDatabase("pglite:").enableMemoryBroker();
        app.onEvent("startup", () => { throw new Error("started"); });`,
    });
    const { code, out, err } = await runCommand(folder, "doctor", "--app", "app.mjs");
    expect(err).toBe("connecting to database, memory_broker ...\n");
    expect(out).toMatch(/^ok +node +v\d+\.\d+\.\d+, Stoa needs >=20$/m);
    expect(out).toMatch(/^ok +pg +8\.\d+\.\d+ for a database with the URL postgres:$/m);
    expect(out).toMatch(
      /^ok +server +transport (?:native \((?:epoll|io_uring)\), built here|net) \(HTTP\/1\.1\), development, 1 worker/m,
    );
    expect(out).toMatch(/^ok +database +reachable$/m);
    expect(out).toMatch(/^ok +memory_broker +reachable$/m);
    expect(code).toBe(0);
  });

  it("An engine that cannot be reached is wrong, with the cure and without the password", async () => {
    const folder = await makeFolder({
      "app.mjs": `export const app = new App();
        app.enableDatabase("postgres://me:secret@127.0.0.1:1/shop?connect_timeout=1").enableAmqp("amqp://127.0.0.1:1");`,
    });
    const { code, out } = await runCommand(folder, "doctor", "--app", "app.mjs");
    expect(out).toMatch(
      /^wrong +database +cannot connect to PostgreSQL at 127\.0\.0\.1:1.*is the server running, and does app\.enableDatabase\(\) have/m,
    );
    expect(out).toMatch(/^wrong +amqp +the AMQP broker at 127\.0\.0\.1:1 is unreachable.*app\.enableAmqp\(\)/m);
    expect(out).not.toContain("secret");
    expect(code).toBe(1);
  });

  it("Settings that contradict are wrong, and settings without effect are a warning", async () => {
    const folder = await makeFolder({
      "wrong.mjs": 'export const app = new App().onMessage("orders", () => {});',
      "idle.mjs": "export const app = new App().enableCqrs(true);",
      "started.mjs": "export const app = new App(); await app.start();",
    });
    const wrong = await runCommand(folder, "doctor", "--app", "wrong.mjs");
    expect(wrong.out).toMatch(/^wrong +settings +onMessage\('orders'\) needs a broker: enableMemoryBroker\(\)/m);
    expect(wrong.code).toBe(1);
    const idle = await runCommand(folder, "doctor", "--app", "idle.mjs");
    expect(idle.out).toMatch(/^warning +settings +option 'enableEventSync' in CqrsConfig has no effect/m);
    expect(idle.code).toBe(0);
    const started = await runCommand(folder, "doctor", "--app", "started.mjs");
    expect(started.out).toMatch(/^wrong +application +.*export it from a module that does not call app\.run\(\)/m);
    expect(started.code).toBe(1);
  });

  it("A setting that is read twice is listed once, with the place of its value", async () => {
    const read = () =>
      defineSettings(z.object({ CITY: z.string() }), { folder: "/nonexistent", env: { CITY: "Oslo" } });
    Object.assign(globalThis, { read });
    onTestFinished(() => void delete (globalThis as { read?: unknown }).read);
    const folder = await makeFolder({ "app.mjs": "read(); read(); export const app = new App();" });
    const { out } = await runCommand(folder, "doctor", "--app", "app.mjs");
    expect(out).toMatch(/^ok +settings +CITY from the environment$/m);
  });

  it("All settings that are missing or wrong are listed, those of the config file and of the application", async () => {
    const options = { folder: "/nonexistent", env: { CITY: "Oslo", LIMIT: "many" } };
    Object.assign(globalThis, { defineSettings, z, options });
    onTestFinished(() => {
      for (const name of ["defineSettings", "z", "options"]) Reflect.deleteProperty(globalThis, name);
    });
    const folder = await makeFolder({
      "stoa.config.mjs": `const { HOST } = defineSettings(z.object({ HOST: z.string() }), options);
        export default { app: "./app.mjs", database: HOST };`,
      "app.mjs": `const { SECRET } = defineSettings(z.object({ CITY: z.string(), SECRET: z.string(), LIMIT: z.int() }), options);
        export const app = new App();
        if (SECRET.length < 32) throw new Error("too short");`,
    });
    const { code, out } = await runCommand(folder, "doctor");
    expect(out).toMatch(/^wrong +settings +HOST: not set$/m);
    expect(out).toMatch(/^wrong +settings +SECRET: not set$/m);
    expect(out).toMatch(/^wrong +settings +LIMIT: Invalid input: expected number/m);
    expect(out).not.toContain("undefined");
    expect(code).toBe(1);
  });

  it("A folder without an application is checked for its packages alone", async () => {
    const { code, out } = await runCommand(await makeFolder(), "doctor");
    expect(out).toMatch(/^- +application +not checked, no application: give --app FILE/m);
    expect(code).toBe(0);
  });

  it("Packages that are missing, that do not fit and that want a newer Node are named", async () => {
    const folder = await makeFolder();
    const install = async (name: string, manifest: object): Promise<void> => {
      await mkdir(join(folder, name), { recursive: true });
      await writeFile(join(folder, name, "package.json"), JSON.stringify(manifest));
    };
    const peerDependencies = { pg: "~8.23.0", ioredis: "^6.0.0", amqplib: "~2.3.0", graphql: "^16.15.0" };
    await install("node_modules/stoa", { version: "1.0.0", engines: { node: ">=20" }, peerDependencies });
    await install("node_modules/pg", { version: "8.22.0" });
    await install("node_modules/ioredis", { version: "6.1.0", engines: { node: ">=22.19" } });
    await install("node_modules/stoa/node_modules/graphql", { version: "16.15.0" });
    const findings = await checkPackages("v18.0.0", join(folder, "node_modules/stoa"));
    expect(findings.map(({ state, subject, text }) => `${state} ${subject} ${text}`)).toEqual([
      "wrong node v18.0.0, Stoa needs >=20: install a newer Node.js, https://nodejs.org",
      "ok stoa 1.0.0",
      "wrong pg 8.22.0 does not fit a database with the URL postgres:, which needs ~8.23.0: npm install 'pg@~8.23.0'",
      "warning ioredis 6.1.0 asks for Node >=22.19, and this is v18.0.0: update Node.js",
      "- amqplib not installed; it is for enableAmqp()",
      "ok graphql 16.15.0 for enableGraphql()",
    ]);
  });

  it.each([
    ["1.2.3", "^1.2.3", true],
    ["1.3.0", "^1.2.3", true],
    ["2.0.0", "^1.2.3", false],
    ["0.5.16", "^0.5.0", true],
    ["0.6.0", "^0.5.0", false],
    ["0.1.2", "^0.1.1", true],
    ["8.23.9", "~8.23.0", true],
    ["8.24.0", "~8.23.0", false],
    ["v22.18.0", ">=22.19", false],
    ["v24.0.0", ">= 22.19.0", true],
    ["1.0.0", ">=1 <2 || 3", true],
  ])("The version %s fits %s: %s", (version, range, expected) => {
    expect(fits(version, range)).toBe(expected);
  });
});
