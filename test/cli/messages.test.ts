import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App, hostOf } from "../../src/app/app.js";
import { MessagingError } from "../../src/engines/messaging/errors.js";
import { MemoryBroker } from "../../src/engines/messaging/memory/memory-broker.js";
import { MemoryHub } from "../../src/engines/messaging/memory/memory-hub.js";
import { messagingState } from "../../src/engines/messaging/state.js";
import { makeDatabase } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";
import { makeFolder, runCommand } from "./run-command.js";

const server = service("postgres");
const patient = { timeout: 20_000, interval: 20 };

const stoa = (folder: string, ...given: string[]) => runCommand(folder, "messages", ...given);

describe("stoa messages", () => {
  it("Mistakes are refused with the reason: no application, no module, no App, a started one, no choice", async () => {
    const folder = await makeFolder();
    const refusal = async (...given: string[]): Promise<string> => {
      const { code, err } = await stoa(folder, ...given);
      expect(code).toBe(1);
      return err;
    };
    expect(await refusal("list")).toMatch(/no application: give --app FILE/);
    expect(await refusal("list", "--app", "missing.mjs")).toMatch(/missing.mjs is not there/);
    await writeFile(join(folder, "none.mjs"), "export const app = 17;");
    expect(await refusal("list", "--app", "none.mjs")).toMatch(/none.mjs exports no application/);
    await writeFile(join(folder, "app.mjs"), "export const app = () => globalThis.made();");
    const started = new App();
    await started.start();
    Object.assign(globalThis, { made: () => started });
    expect(await refusal("list", "--app", "app.mjs")).toMatch(/app.mjs starts the application/);
    Object.assign(globalThis, { made: () => new App() });
    expect(await refusal("list", "--app", "app.mjs")).toMatch(/the application has no broker/);
    expect(await refusal("discard", "--app", "app.mjs")).toMatch(/takes ids, --failure NAME or --all/);
    expect(await refusal("replay", "a", "--all", "--app", "app.mjs")).toMatch(/takes ids, --failure NAME or --all/);
    expect(await refusal("list", "--outbox", "--dead", "--app", "app.mjs")).toMatch(/give one of them/);
    expect(await refusal("show", "--app", "app.mjs")).toMatch(/give the id of a message/);
  });
});

it("The dead letters of topics that a handler has by a pattern are listed", async () => {
  const hub = new MemoryHub();
  const record = { key: null, headers: {}, body: Buffer.from("1"), timestamp: 1, delayMs: 0 };
  for (const topic of ["orders.eu", "orders.eu.dead", "bills.dead"])
    hub.append({ ...record, topic, id: `in-${topic}` });
  const make = () => {
    const app = new App();
    messagingState(hostOf(app)).replacement = () => new MemoryBroker({ hub });
    app.enableMemoryBroker();
    return app.onMessage(/./, () => {});
  };
  const folder = await makeFolder();
  Object.assign(globalThis, { made: make });
  await writeFile(join(folder, "app.mjs"), "export const app = () => globalThis.made();");
  const listed = await stoa(folder, "list", "--app", "app.mjs");
  expect(listed).toMatchObject({ code: 0, out: expect.stringContaining("orders.eu") });
  expect(listed.out).toMatch(/\b1\b/);
  expect((await stoa(folder, "show", "in-orders.eu.dead", "--app", "app.mjs")).code).toBe(0);
  expect((await stoa(folder, "show", "in-bills.dead", "--app", "app.mjs")).code).toBe(1);
});

it("Control characters in a message of another program do not reach the terminal", async () => {
  const hub = new MemoryHub();
  const odd = "\u001b[31m\u009b31m\u007f";
  const headers = { "stoa-dead-error": odd, "stoa-dead-at": "never" };
  const body = Buffer.from(odd);
  hub.append({ topic: "orders.dead", id: "1", key: odd, headers, body, timestamp: 1, delayMs: 0 });
  const make = () => {
    const app = new App();
    messagingState(hostOf(app)).replacement = () => new MemoryBroker({ hub });
    return app.enableMemoryBroker();
  };
  const folder = await makeFolder();
  Object.assign(globalThis, { made: make });
  await writeFile(join(folder, "app.mjs"), "export const app = () => globalThis.made();");
  const options = ["--app", "app.mjs", "--topic", "orders"];
  const shown = await stoa(folder, "show", "1", ...options);
  expect(JSON.parse(shown.out)).toMatchObject({ text: odd, key: odd, error: odd });
  const outputs = [shown, await stoa(folder, "list", ...options), await stoa(folder, "list", "--json", ...options)];
  for (const { code, out } of outputs) {
    expect(code).toBe(0);
    expect(out).not.toMatch(/[\u001b\u007f-\u009f]/);
  }
});

describe.skipIf(!server)("stoa messages beside an application that runs", () => {
  let url: string;
  let drop: () => Promise<void>;
  let app: App;
  const hub = new MemoryHub();
  let broken = true;
  const handled: unknown[] = [];

  class Refusing extends MemoryBroker {
    override async publish(records: Parameters<MemoryBroker["publish"]>[0]) {
      const refused = new MessagingError("REFUSED", "no exchange 5");
      if (broken && records[0]!.topic === "invoices") return records.map(() => refused);
      return super.publish(records);
    }
  }
  const make = (): App => {
    const one = new App();
    one.logger = quiet;
    messagingState(hostOf(one)).replacement = () => new Refusing({ hub });
    one.enableDatabase({ url, poolSize: 3 }).enableMemoryBroker().enableOutbox({ attempts: 1, poll: "50ms" });
    one.onMessage("orders", { retry: false }, ({ value }) => {
      if (broken) throw new Error(`no stock for ${JSON.stringify(value)}`);
      handled.push(value);
    });
    one.onEvent("startup", () => void started++);
    return one;
  };
  let started = 0;
  beforeAll(async () => {
    ({ url, drop } = await makeDatabase(server!));
    app = make();
    await app.start();
  });
  afterAll(async () => {
    await app?.stop();
    await drop?.();
  });

  it("Failures are listed by group, shown, sent again and discarded, with the count of replays", {
    timeout: 60_000,
  }, async () => {
    const folder = await makeFolder();
    Object.assign(globalThis, { made: make });
    await writeFile(join(folder, "app.mjs"), "export const app = () => globalThis.made();");
    await writeFile(join(folder, "stoa.config.mjs"), 'export default { app: "./app.mjs" };');
    const { id: bad } = await app.publish("orders", 1, { headers: { tenant: "t1" } });
    await app.publish("orders", 22);
    const { id: stuck } = await app.outbox.publish("invoices", { total: 3 }, { key: "k" });
    await vi.waitFor(async () => expect(await app.deadLetters.list("orders")).toHaveLength(2), patient);
    await vi.waitFor(async () => expect((await app.outbox.list())[0]?.state).toBe("stuck"), patient);

    const { out, err, code } = await stoa(folder, "list");
    expect(code).toBe(0);
    expect(err).toMatch(/^messages of the memory broker are in the process/);
    const [head, dead, outbox, ...none] = out.trimEnd().split("\n");
    expect(none).toEqual([]);
    expect(head).toMatch(/^NAME +KIND +TOPIC +MESSAGES +REPLAYS +LAST +FAILURE$/);
    expect(dead).toMatch(/^[0-9a-f]{8} +dead letter +orders +2 +0 +[-0-9]+ [:0-9]+ +failed: no stock for #$/);
    expect(outbox).toMatch(/^[0-9a-f]{8} +outbox +invoices +1 +0 .*REFUSED: no exchange #$/);
    const nameOf = (line: string | undefined): string => line!.slice(0, 8);
    expect(JSON.parse((await stoa(folder, "list", "--json", "--outbox")).out)).toMatchObject([
      { kind: "outbox", count: 1 },
    ]);
    expect((await stoa(folder, "list", "--topic", "other")).out).toBe("no message has failed\n");

    expect(JSON.parse((await stoa(folder, "show", bad)).out)).toMatchObject({
      kind: "dead letter",
      id: bad,
      topic: "orders",
      text: "1",
      error: "no stock for 1",
      headers: { tenant: "t1" },
      attempts: 1,
    });
    expect(JSON.parse((await stoa(folder, "show", stuck)).out)).toMatchObject({
      kind: "outbox",
      id: stuck,
      key: "k",
      text: '{"total":3}',
      state: "stuck",
      replays: 0,
    });
    expect((await stoa(folder, "show", "nobody")).err).toMatch(/there is no dead letter .* with the id 'nobody'/);

    // Sent back while the cause is there: they fail again, and the count shows it.
    expect((await stoa(folder, "replay", "--failure", nameOf(dead))).out).toBe("2 messages were sent again\n");
    expect((await stoa(folder, "replay", stuck)).out).toBe("1 message was sent again\n");
    await vi.waitFor(async () => {
      const groups = JSON.parse((await stoa(folder, "list", "--json")).out) as { count: number; replays: number }[];
      expect(groups.map(({ count, replays }) => [count, replays])).toEqual([
        [2, 1],
        [1, 1],
      ]);
    }, patient);
    expect((await stoa(folder, "replay", "--failure", "00000000")).err).toMatch(/there is no failure '00000000'/);

    expect(await stoa(folder, "discard", bad, "nobody")).toMatchObject({ out: "1 message was discarded\n", code: 1 });
    broken = false;
    expect((await stoa(folder, "replay", "--all")).out).toBe("2 messages were sent again\n");
    await vi.waitFor(() => expect(handled).toEqual([22]), patient);
    await vi.waitFor(() => expect(hub.records("invoices")).toHaveLength(1), patient);
    // The relay removes its row after the broker has the message.
    await vi.waitFor(async () => expect((await stoa(folder, "list")).out).toBe("no message has failed\n"), patient);
    // The commands run no startup hook.
    expect(started).toBe(1);
  });
});
