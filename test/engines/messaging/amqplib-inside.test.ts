import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { connect } from "amqplib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ConfirmChannel } from "../../../src/engines/messaging/amqp/amqplib.js";
import { gatherWrites } from "../../../src/engines/messaging/amqp/gather-writes.js";
import { PublishWriter } from "../../../src/engines/messaging/amqp/publish-writer.js";
import { service } from "../../support/service.js";
import { uniqueTopic } from "./harness.js";

const url = service("rabbitmq");

/*
 * The fast ways to publish and to acknowledge use parts of amqplib that are no part of its interface. An amqplib without these
 * parts would work as before, but slower, and nothing else would say so. These tests fail then.
 */
it("Applications can install the minor version of amqplib that is tested here, and no other", async () => {
  const read = async (path: string) => JSON.parse(await readFile(new URL(path, import.meta.url), "utf8"));
  const { peerDependencies } = await read("../../../package.json");
  const { version } = await read("../../../node_modules/amqplib/package.json");
  expect(peerDependencies.amqplib).toBe(`~${version.replace(/\d+$/, "0")}`);
});

describe.skipIf(!url)("the inside of amqplib", () => {
  const opened = async () => {
    const model = await connect(url!);
    onTestFinished(() => model.close());
    const channel = (await model.createConfirmChannel()) as unknown as ConfirmChannel;
    const { queue } = await channel.assertQueue(uniqueTopic("inside"), { exclusive: true });
    return { model, channel, queue };
  };
  const publishOf = (queue: string, text: string) => ({
    record: {
      topic: queue,
      id: randomUUID(),
      key: null,
      headers: {},
      body: Buffer.from(text),
      timestamp: Date.now(),
      delayMs: 0,
    },
    exchange: "",
    routingKey: queue,
    mandatory: false,
  });

  it("A channel of the installed amqplib has a writer, whose messages RabbitMQ confirms and delivers", async () => {
    const { channel, queue } = await opened();
    const writer = PublishWriter.of(channel);
    expect(writer, "amqplib has changed: publish-writer.ts does not know its channels").not.toBeNull();
    const texts = Array.from({ length: 50 }, (_, n) => `message ${n}`);
    const confirms = texts.map(
      (text) =>
        new Promise<unknown>((resolve) => {
          expect(writer!.publish(publishOf(queue, text), resolve)).toBe(true);
        }),
    );
    expect(await Promise.all(confirms)).toEqual(texts.map(() => null));
    for (const text of texts) expect(String((await read(channel, queue))?.content)).toBe(text);
  });

  it("Messages of the writer and of the installed amqplib share their confirms", async () => {
    const { channel, queue } = await opened();
    const writer = PublishWriter.of(channel)!;
    const ended: string[] = [];
    await new Promise<void>((resolve) => {
      writer.publish(publishOf(queue, "1"), () => ended.push("writer"));
      writer.flush();
      channel.publish("", queue, Buffer.from("2"), {}, () => ended.push("amqplib"));
      writer.publish(publishOf(queue, "3"), () => {
        ended.push("writer");
        resolve();
      });
    });
    expect(ended).toEqual(["writer", "amqplib", "writer"]);
    for (const text of ["1", "2", "3"]) expect(String((await read(channel, queue))?.content)).toBe(text);
  });

  it("The writer notices that a channel of the installed amqplib is closed", async () => {
    const { channel, queue } = await opened();
    const writer = PublishWriter.of(channel)!;
    await channel.close();
    expect(writer.publish(publishOf(queue, "late"), () => {})).toBe(false);
    expect(PublishWriter.of(channel)).toBeNull();
  });

  it("The socket of the installed amqplib is where its writes are gathered", async () => {
    const { model } = await opened();
    const { stream } = model.connection as unknown as { stream: Socket };
    expect(stream).toBeInstanceOf(Socket);
    const { write } = stream;
    gatherWrites(model);
    expect(stream.write).not.toBe(write);
  });

  async function read(channel: ConfirmChannel, queue: string) {
    const message = await channel.get(queue, { noAck: true });
    return message === false ? null : message;
  }
});
