import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";

const root = join(import.meta.dirname, "../..");
let folder: string;

/** A package with a broker, whose tests run with Node's own runner. */
const program = `
import { describe, it } from "node:test";
import { MemoryBroker, MemoryHub } from "stoa/messaging";
import { testBroker, testBrokerFaults } from "stoa/testing/broker";

const hub = new MemoryHub();
class Broker extends MemoryBroker {
  publish(records) {
    return super.publish(process.env.LOSES_KEYS ? records.map((record) => ({ ...record, key: null })) : records);
  }
}
const abilities = process.env.ABILITIES.split(",");
const broker = { name: "a broker", connect: () => new Broker({ hub }) };
testBroker({ ...broker, abilities }, { describe, it });
testBrokerFaults({ ...broker, stop: async () => hub.stop(), start: async () => hub.start() }, { describe, it });
`;

beforeAll(async () => {
  await ensureBuilt({ log: () => {} });
  folder = await mkdtemp(join(tmpdir(), "stoa-kit-"));
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules/stoa"));
  await writeFile(join(folder, "broker.test.mjs"), program);
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

function run(env: NodeJS.ProcessEnv, ...options: string[]): Promise<{ code: number; output: string }> {
  const args = ["--test", "--test-reporter=tap", ...options, join(folder, "broker.test.mjs")];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: { ...process.env, ...env } }, (error, output) =>
      resolve({ code: error === null ? 0 : 1, output }),
    );
  });
}

const all = { ABILITIES: "broadcast,delay,seek,transactions" };

describe("the test kit of brokers", { timeout: 300_000 }, () => {
  it("The kit runs in a package without vitest, with the runner of Node", async () => {
    const { code, output } = await run(all);
    expect(code, output).toBe(0);
    expect(output).toContain("# fail 0");
    expect(output).toContain("A message arrives with its value, key, headers, id and time");
    expect(output).toContain("Messages published during an outage of the broker are handled");
  });

  it("A broker that loses the keys of messages does not pass", async () => {
    const { code, output } = await run({ ...all, LOSES_KEYS: "1" }, "--test-name-pattern=A message arrives");
    expect(code).toBe(1);
    expect(output).toContain("# fail 1");
  });

  it("A broker that has another ability than its tests name does not pass", async () => {
    const { code, output } = await run({ ABILITIES: "broadcast,delay" }, "--test-name-pattern=has the abilities");
    expect(code).toBe(1);
    expect(output).toContain("+   'seek'");
  });
});
