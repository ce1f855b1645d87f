import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { startRabbit } from "../../../scripts/services/rabbitmq.mjs";
import { service } from "../../support/service.js";
import { until } from "./harness.js";
import { Load, queueTypes, Waiting, wait } from "./restart-loads.js";
import { stopInOrder } from "./stop-rabbit.js";

/** Messages of each kind that wait in the broker when it ends. */
const count = 100;

/** A broker of its own, which is stopped, killed and started again with its data: twice in all, for all that is tested here. */
describe.skipIf(!service("rabbitmq"))("RabbitMQ restarted under load", () => {
  let folder: string;
  let rabbit: Awaited<ReturnType<typeof startRabbit>>;
  let loads: Load[];
  let waiting: Waiting[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-rabbit-restart-"));
    const port = await freePort();
    rabbit = await startRabbit(folder, port);
    loads = await Promise.all(queueTypes.map((type) => Load.start(rabbit.value, type)));
    waiting = await Promise.all(queueTypes.map((type) => Waiting.start(rabbit.value, type)));
    await Promise.all(loads.map((load) => load.more(50)));
    // In an orderly way first: the node writes down the members of a quorum queue a second after the queue was made, and one
    // that is killed before that has lost the messages of the queue, whatever a client does.
    for (const end of [() => stopInOrder(folder, rabbit), () => rabbit.stop()]) {
      await Promise.all(waiting.map((messages) => messages.publish(count)));
      const due = Date.now() + wait;
      await end();
      await until(() => Date.now() > due);
      rabbit = await startRabbit(folder, port, rabbit.ports);
      await Promise.all([...loads.map((load) => load.more(100)), ...waiting.map((messages) => messages.handled())]);
    }
  }, 1_200_000);

  afterAll(async () => {
    await rabbit?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("No confirmed message of a classic or a quorum queue is lost when RabbitMQ is stopped, killed and started again, each key keeps its order, and the consumers connect again by themselves", async () => {
    for (const load of loads) await load.finish();
  });

  it("Every message that waits for a retry or a delay is handled though RabbitMQ is stopped or killed and its time runs out meanwhile", async () => {
    for (const messages of waiting) await messages.finish();
  });
});
