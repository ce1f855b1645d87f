import { App } from "stoa";
import { config, is, option } from "stoa/feature";
import {
  type Broker,
  type BrokerNames,
  defineBroker,
  MemoryBroker,
  MemoryHub,
  openMessaging,
  topic,
} from "stoa/messaging";
import { testMessages } from "stoa/testing";
import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import { contract } from "../../../src/feature/feature.js";
import { silent, until } from "./harness.js";

class PigeonConfig extends config(
  "PigeonConfig",
  { groupId: option(is.text), fails: option(is.boolean, false) },
  { order: ["groupId"] },
) {}

const hub = new MemoryHub();
const log: string[] = [];

/** A driver from outside: the memory broker under another name, which tells when it opens and closes. */
class PigeonBroker extends MemoryBroker {
  readonly #fails: boolean;

  constructor({ groupId, fails }: PigeonConfig, application?: string) {
    super({ hub, name: "pigeon", groupId: groupId ?? application });
    this.#fails = fails;
  }

  override async open(): Promise<void> {
    if (this.#fails) throw new Error("the pigeon has flown");
    await super.open();
    log.push("open");
  }

  override async close(): Promise<void> {
    await super.close();
    log.push("close");
  }
}

const pigeon = defineBroker({
  name: "pigeon",
  config: PigeonConfig,
  create: (settings, { application }) => new PigeonBroker(settings, application),
});

declare module "stoa/messaging" {
  interface BrokerNames {
    readonly pigeon: true;
  }
}

const started: App[] = [];
afterEach(async () => {
  for (const app of started.splice(0)) await app.stop();
  log.length = 0;
});

function makeApp(): App {
  const app = new App();
  app.logger = silent();
  started.push(app);
  return app;
}

describe("a broker from outside", () => {
  it("A broker that is installed carries the messages of an application, and is in its readiness", async () => {
    const app = makeApp().install(pigeon, { groupId: "loft" });
    app.enableHealthChecks();
    const seen: unknown[] = [];
    app.onMessage("letters", ({ value }) => {
      seen.push(value);
    });
    await app.start();
    expect(app.messaging.consumers.map(({ group }) => group)).toEqual(["loft"]);
    await app.publish("letters", "hello");
    await until(() => seen.length === 1);
    const report = (await (await app.request("/health/ready")).json()) as { checks: Record<string, unknown> };
    expect(report.checks).toMatchObject({ pigeon: { status: "UP" }, consumers: { status: "UP" } });
  });

  it("A broker is open in startup hooks and in the last handlers, and closes after the shutdown hooks", async () => {
    const app = makeApp().install(pigeon);
    app.onEvent("startup", async () => {
      await app.publish("letters", 1);
      log.push("startup");
    });
    app.onEvent("shutdown", async () => {
      await app.publish("letters", 2);
      log.push("shutdown");
    });
    await app.start();
    await app.stop();
    expect(log).toEqual(["open", "startup", "shutdown", "close"]);
  });

  it("A topic names a broker from outside beside one of the framework", async () => {
    const app = makeApp().enableMemoryBroker().install(pigeon);
    // Editors offer the name, because the module above declares it.
    const declared: keyof BrokerNames = "pigeon";
    const letters = topic<string>("notes", { broker: declared });
    const seen: string[] = [];
    app.onMessage(letters, ({ value }) => void seen.push(value));
    await app.start();
    await app.publish(letters, "by air");
    await until(() => seen.length === 1);
    await expect(app.publish("notes", 1)).rejects.toThrow("say which of memory, pigeon it belongs to");
    await expect(app.publish(topic("notes", { broker: "pigeno" }), 1)).rejects.toThrow(
      "the topic 'notes' belongs to pigeno, which is not enabled; did you mean 'pigeon'?",
    );
  });

  it("A consumer names the broker that it takes the messages of a topic from", async () => {
    const app = makeApp().enableMemoryBroker().install(pigeon);
    const seen: unknown[] = [];
    app.onMessage("notes", { broker: "pigeon" }, ({ value }) => void seen.push(value));
    await app.start();
    await app.publish(topic("notes", { broker: "memory" }), "on paper");
    await app.publish(topic("notes", { broker: "pigeon" }), "by air");
    await until(() => seen.length === 1);
    expect(seen).toEqual(["by air"]);
  });

  it("Tests put a broker in memory in the place of one from outside", async () => {
    const app = makeApp().install(pigeon, { fails: true });
    const seen: unknown[] = [];
    app.onMessage("letters", ({ value }) => void seen.push(value));
    const messages = testMessages(app);
    await messages.publish("letters", 1);
    await messages.idle();
    expect(seen).toEqual([1]);
  });

  it("A broker is created without an application, for scripts", async () => {
    expectTypeOf(pigeon.create).returns.resolves.toEqualTypeOf<Broker>();
    expectTypeOf(pigeon.create).parameter(0).extract<string>().toEqualTypeOf<string>();
    const client = await openMessaging(await pigeon.create("scripts"), { logger: silent() });
    await client.publish("letters", 1);
    await client.close();
    expect(log).toEqual(["open", "close"]);
  });
});

describe("errors of brokers from outside", () => {
  it("A broker that does not open ends the start with its reason", async () => {
    await expect(makeApp().install(pigeon, { fails: true }).start()).rejects.toThrow("the pigeon has flown");
  });

  it("Wrong options of a broker are refused when they are given", () => {
    expect(() => makeApp().install(pigeon, { groupid: "x" } as never)).toThrow(
      "unknown option 'groupid' in PigeonConfig; did you mean 'groupId'?",
    );
  });

  it("A broker that is installed twice is refused", () => {
    expect(() => makeApp().install(pigeon).install(pigeon)).toThrow("the feature pigeon broker is installed already");
  });

  it("A broker with the name of another one is refused, and leaves nothing behind", async () => {
    const create = () => new MemoryBroker();
    const other = defineBroker({ name: "pigeon", config: PigeonConfig, create });
    expect(() => makeApp().install(pigeon).install(other)).toThrow(
      "the application has a broker of the name pigeon already",
    );
    const memory = defineBroker({ name: "memory", config: PigeonConfig, create });
    const app = makeApp().install(memory);
    expect(() => app.enableMemoryBroker()).toThrow("the application has a broker of the name memory already");
    await app.start();
  });

  it("A definition whose broker has another name is refused at the start, and its broker is closed", async () => {
    const dove = defineBroker({ name: "dove", config: PigeonConfig, create: (settings) => new PigeonBroker(settings) });
    await expect(makeApp().install(dove).start()).rejects.toThrow(
      `defineBroker('dove') has created a broker of the name "pigeon"`,
    );
    expect(log).toEqual(["close"]);
  });

  it("A broker made for another version of the contract is refused with the cure", () => {
    const old = { ...pigeon, [contract]: 7 };
    expect(() => makeApp().install(old as never)).toThrow(
      "the feature pigeon broker is made for version 7 of the feature contract",
    );
  });

  it.each([[""], ["Nats"], ["my broker"], [7]])("A broker of the name %j is refused", (name) => {
    const definition = { name: name as string, config: PigeonConfig, create: () => new MemoryBroker() };
    expect(() => defineBroker(definition)).toThrow(
      "option 'name' in defineBroker must be the name of a broker: lower-case letters, digits and '_', not",
    );
  });
});
