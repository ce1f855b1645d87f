import { createHash } from "node:crypto";
import type { DeadLetter, DeadLetters } from "../../engines/messaging/dead-letters.js";
import { MessagingError } from "../../engines/messaging/errors.js";
import { ValueError } from "../../kit/value-error.js";
import type { OutboxAdmin } from "../../patterns/outbox/admin.js";
import type { OutboxMessage } from "../../patterns/outbox/message.js";

/** Messages of one failure. */
export interface PileGroup {
  /** A short name of the failure, to choose it with. */
  readonly name: string;
  readonly kind: "dead letter" | "outbox";
  readonly topic: string;
  readonly failure: string;
  readonly count: number;
  /** The most times that one of them was sent again. */
  readonly replays: number;
  readonly last: Date;
}

export type PileMessage =
  | { readonly kind: "dead letter"; readonly message: DeadLetter }
  | { readonly kind: "outbox"; readonly message: OutboxMessage };

/** The messages that a command is to change. */
export type Choice = { readonly all: true } | { readonly ids: readonly string[] } | { readonly failure: string };

export interface PileParts {
  readonly deadLetters: DeadLetters | null;
  readonly outbox: OutboxAdmin | null;
  readonly topics: readonly string[];
  /** True if the outbox is restricted to the topics too. */
  readonly onlyTopics: boolean;
  readonly limit: number;
}

/** Dead letters of topics and failed messages of the outbox, seen as one. */
export class Pile {
  constructor(private readonly parts: PileParts) {}

  async groups(): Promise<PileGroup[]> {
    const { deadLetters, outbox, topics, limit } = this.parts;
    const found: PileGroup[] = [];
    for (const topic of deadLetters === null ? [] : topics) {
      for (const group of await existing([], () => deadLetters!.failures(topic, { limit }))) {
        found.push({ kind: "dead letter", topic, name: nameOf("dead letter", topic, group.failure), ...group });
      }
    }
    for (const group of (await outbox?.failures()) ?? []) {
      if (this.#wants(group.topic))
        found.push({ kind: "outbox", name: nameOf("outbox", group.topic, group.failure), ...group });
    }
    return found;
  }

  /** The messages with an id; several groups of consumers may have failed with the same one. */
  async find(id: string): Promise<PileMessage[]> {
    const { deadLetters, outbox, topics, limit } = this.parts;
    const found: PileMessage[] = [];
    for (const topic of deadLetters === null ? [] : topics) {
      const letters = await existing([], () => deadLetters!.list(topic, { ids: [id], limit }));
      found.push(...letters.map((message) => ({ kind: "dead letter" as const, message })));
    }
    const stored = (await outbox?.list({ ids: [id] })) ?? [];
    for (const message of stored) if (this.#wants(message.topic)) found.push({ kind: "outbox", message });
    return found;
  }

  /** Sends messages again or deletes them. Resolves to the number. */
  async change(how: "replay" | "discard", choice: Choice): Promise<number> {
    const { deadLetters, outbox, topics, onlyTopics, limit } = this.parts;
    const ofOutbox = how === "replay" ? "retry" : "discard";
    if ("failure" in choice) {
      const group = (await this.groups()).find(({ name }) => name === choice.failure);
      if (group === undefined) {
        throw new ValueError(`there is no failure '${choice.failure}': \`stoa messages list\` shows their names`);
      }
      const { topic, failure } = group;
      if (group.kind === "dead letter") return deadLetters![how](topic, { failure, limit });
      return outbox![ofOutbox]({ topic, failure });
    }
    const filter = "ids" in choice ? { ids: choice.ids } : {};
    let count = 0;
    for (const topic of deadLetters === null ? [] : topics) {
      count += await existing(0, () => deadLetters![how](topic, { ...filter, limit }));
    }
    if (outbox === null) return count;
    for (const topic of onlyTopics ? topics : [undefined]) count += await outbox[ofOutbox]({ ...filter, topic });
    return count;
  }

  #wants(topic: string): boolean {
    return !this.parts.onlyTopics || this.parts.topics.includes(topic);
  }
}

/** A topic that has never had a dead letter may not exist at the broker. */
async function existing<T>(none: T, look: () => Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof MessagingError && error.code === "UNKNOWN_TOPIC") return none;
    throw error;
  }
}

function nameOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 8);
}
