import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { startFauxqs } from "fauxqs";
import { type Broker, createAmqpBroker, createKafkaBroker, createSqsBroker } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { connected, uniqueTopic, until } from "./harness.js";
import type { WorkerSettings } from "./worker-program.js";

const program = fileURLToPath(new URL("./worker-program.ts", import.meta.url));
const kafka = service("kafka");
const rabbit = service("rabbitmq");
const credentials = { accessKeyId: "test", secretAccessKey: "test" };

/** A worker process and the lines that it has printed. */
class Worker {
  readonly lines: string[] = [];
  readonly child: ChildProcessWithoutNullStreams;

  private constructor(settings: WorkerSettings, { onTestFinished }: TestContext) {
    this.child = spawn(process.execPath, [compiled(program), JSON.stringify(settings)]);
    this.child.stderr.on("data", (chunk) => this.lines.push(`stderr ${chunk}`));
    createInterface({ input: this.child.stdout }).on("line", (line) => this.lines.push(line));
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  static async start(settings: WorkerSettings, context: TestContext): Promise<Worker> {
    const worker = new Worker(settings, context);
    await until(() => worker.lines.includes("ready"), `the worker of ${settings.broker} is ready`);
    return worker;
  }

  said(line: string): boolean {
    return this.lines.includes(line);
  }

  /** Messages that ended by their result: [done, lost]. */
  get stats(): string | undefined {
    return this.lines.findLast((line) => line.startsWith("stats "));
  }

  go(): void {
    this.child.stdin.write("go\n");
  }
}

interface Side {
  readonly broker: WorkerSettings["broker"];
  /** Members of one group wait for each other: each test has a group of its own. */
  config(group: string): object;
  connect(): Promise<Broker>;
}

// At once: nearly all of their time is the time after which a broker takes a process for dead.
describe.skipIf(!kafka).concurrent("Worker processes of Kafka", () => {
  const config = (groupId: string) => ({ brokers: [kafka!], groupId, sessionTimeout: 6 });
  processes({ broker: "kafka", config, connect: () => createKafkaBroker(config("publishers")) });
});

describe.skipIf(!rabbit).concurrent("Worker processes of RabbitMQ", () => {
  const config = () => ({ url: rabbit!, heartbeat: 1 });
  processes({ broker: "amqp", config, connect: () => createAmqpBroker(config()) });
});

describe.concurrent("Worker processes of SQS", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server?.stop());
  const config = () => ({ endpoint: server.address, credentials, visibilityTimeout: 3, waitTime: 1 });
  processes({ broker: "sqs", config, connect: () => createSqsBroker(config()) });
});

function processes({ broker, config, connect }: Side): void {
  const settings = (topic: string): WorkerSettings => ({ broker, config: config(`group-${topic}`), topic });

  it(`A message whose worker is killed in the handler is handled by another worker (${broker})`, async (context) => {
    const topic = uniqueTopic();
    const first = await Worker.start(settings(topic), context);
    const client = await connected({ connect });
    await client.publish(topic, 1, { key: "k" });
    await until(() => first.said("begin 1 1"), "the first worker begins");
    const second = await Worker.start(settings(topic), context);
    second.go();
    first.child.kill("SIGKILL");
    await until(() => second.said("end 1 false"), "the second worker ends");
    await client.close();
  });

  it(`A worker that is stopped until another has its message changes nothing when it goes on (${broker})`, async (context) => {
    const topic = uniqueTopic();
    const first = await Worker.start(settings(topic), context);
    const client = await connected({ connect });
    await client.publish(topic, 1, { key: "k" });
    await until(() => first.said("begin 1 1"), "the first worker begins");
    const second = await Worker.start(settings(topic), context);
    second.go();
    first.child.kill("SIGSTOP");
    await until(() => second.said("end 1 false"), "the second worker ends");
    first.child.kill("SIGCONT");
    first.go();
    await until(() => first.lines.some((line) => line.startsWith("end 1")), "the first worker continues");
    // Its late result does not count.
    await until(() => first.stats === "stats 0 1", "the first worker has lost its message");
    await client.publish(topic, 2, { key: "k" });
    const all = () => [...first.lines, ...second.lines];
    await until(() => all().some((line) => line.startsWith("end 2 false")), "the next message is handled");
    expect(all().filter((line) => line.startsWith("begin 1"))).toHaveLength(2);
    await client.close();
  });

  it.skipIf(!isLong).for([1, 2])(
    `%i workers, each blocked for longer than the broker waits, handle a message once each at most (${broker})`,
    { timeout: 180_000 },
    async (count, context) => {
      const topic = uniqueTopic();
      const blocked = { ...settings(topic), block: 7000 };
      const fleet = await Promise.all(Array.from({ length: count }, () => Worker.start(blocked, context)));
      const client = await connected({ connect });
      await client.publish(topic, 1, { key: "k" });
      await until(() => fleet.some((worker) => worker.said("skipped")), "a worker is done with it", 90_000);
      for (const { lines } of fleet) {
        expect(lines.filter((line) => line.startsWith("begin")).length).toBeLessThanOrEqual(1);
      }
      const warnings = fleet.flatMap(({ lines }) =>
        lines.filter((line) => line.includes("the event loop did not run")),
      );
      expect(warnings[0]).toContain(`while the handler of '${topic}' ran`);
      expect(warnings[0]).toContain('"handler":"work"');
      for (const { child } of fleet) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      const next = await Worker.start(settings(topic), context);
      next.go();
      await client.publish(topic, 2, { key: "k" });
      await until(() => next.said("end 2 false"), "the next message is handled", 60_000);
      expect(next.lines.filter((line) => line.startsWith("begin"))).toEqual(["begin 2 1"]);
      await client.close();
    },
  );

  it(`A worker that ends gives back the messages that it has not begun, with their attempts unchanged (${broker})`, async (context) => {
    const topic = uniqueTopic();
    const first = await Worker.start({ ...settings(topic), prefetch: 5 }, context);
    const client = await connected({ connect });
    for (const value of [1, 2, 3]) await client.publish(topic, value, { key: "k" });
    await until(() => first.said("begin 1 1"), "the first worker begins");
    first.child.kill("SIGTERM");
    await until(() => first.said("closing"), "the first worker ends");
    first.go();
    const [code] = await once(first.child, "exit");
    expect(code).toBe(0);
    expect(first.lines.filter((line) => line.startsWith("begin"))).toEqual(["begin 1 1"]);
    const second = await Worker.start(settings(topic), context);
    second.go();
    await until(() => ["end 2 false", "end 3 false"].every((line) => second.said(line)), "the rest is handled");
    expect(second.lines.filter((line) => line.startsWith("begin")).toSorted()).toEqual(["begin 2 1", "begin 3 1"]);
    await client.close();
  });
}
