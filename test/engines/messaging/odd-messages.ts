import { expect, it } from "vitest";
import { type Backend, clients, silent, uniqueTopic, until } from "./harness.js";

/** Messages that another program sends with a client of its own, by the description of the odd thing about them. */
export interface OddMessages<Message> {
  readonly backend: Backend;
  /** The group of the consumers. */
  readonly group: string;
  readonly messages: Readonly<Record<string, Message>>;
  /** A message like any other, with this text as its value. */
  plain(text: string): Message;
  /** Sends a message to a topic that has a consumer. */
  send(topic: string, message: Message): Promise<void>;
}

/**
 * What holds for a message whatever another program has written into it: it is handled, tried again, made a dead letter,
 * listed, sent back and handled; and the message after it is handled too.
 */
export function oddMessagesContract<Message>(
  broker: string,
  { backend, group, messages, plain, send }: OddMessages<Message>,
): void {
  const open = clients(backend);

  for (const [oddity, message] of Object.entries(messages)) {
    it(`${broker}: ${oddity} is handled, is a dead letter after its last attempt, and is handled when it is sent back`, async () => {
      const logger = silent();
      const client = await open({ logger });
      const topic = uniqueTopic("odd");
      const seen: string[] = [];
      let broken = true;
      await client.subscribe(topic, { retry: { attempts: 2, delay: 0.01, jitter: 0 }, concurrency: 1 }, (got) => {
        const isNext = got.text === "next";
        seen.push(isNext ? "next" : `odd ${got.headers["stoa-replays"] ?? 0}`);
        expect(got.timestamp.getTime()).toBeGreaterThan(0);
        expect(got.id).not.toBe("");
        expect(got.id.length).toBeLessThan(300);
        if (!isNext && broken) throw new Error("no");
      });
      await send(topic, message);
      await send(topic, plain("next"));
      await until(() => seen.includes("next") && seen.includes("odd 0"), "both messages");
      // RabbitMQ has a message that was looked at back in its queue a moment later.
      const one = async <T>(what: string, read: () => Promise<readonly T[]>): Promise<T> => {
        let found: readonly T[] = [];
        await until(async () => (found = await read()).length === 1, what);
        return found[0]!;
      };
      const moved = (what: string, move: () => Promise<number>): Promise<unknown> =>
        one(what, async () => Array.from({ length: await move() }));
      const letter = await one("the dead letter", () => client.deadLetters.list(topic));
      expect(letter).toMatchObject({ topic, group, reason: "failed", error: "no" });
      expect(JSON.parse(JSON.stringify(letter))).toMatchObject({ diedAt: letter.diedAt.toISOString() });
      const failure = await one("the failure", () => client.deadLetters.failures(topic));
      expect(failure.last.toISOString()).toBe(letter.diedAt.toISOString());
      broken = false;
      if (letter.cut === null) {
        await moved("the way back", () => client.deadLetters.replay(topic));
        await until(() => seen.includes("odd 1"), "the message that was sent back");
      } else {
        expect(await client.deadLetters.replay(topic)).toBe(0);
        await moved("the end", () => client.deadLetters.discard(topic));
      }
      await until(async () => (await client.deadLetters.list(topic)).length === 0, "the end of the dead letter");
      const logged = JSON.stringify(logger.lines.map(({ message: text, fields }) => [text, fields]));
      expect(logged.length).toBeLessThan(20_000);
      expect(seen.filter((each) => each === "next")).toHaveLength(1);
    });
  }
}
