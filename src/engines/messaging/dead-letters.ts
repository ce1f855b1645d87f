import { type OptionsOf, option, options } from "../../kit/config.js";
import { assertChoice, is } from "../../kit/options.js";
import type { IncomingRecord } from "./broker.js";
import { groupBy } from "./group-by.js";
import { countIn, frameworkHeaders, withoutOwn } from "./headers.js";
import type { PublishTarget } from "./publish/publish.js";
import { asTopic, isTopicName, type Topic } from "./topic.js";

/** A message that could not be handled. */
export interface DeadLetter {
  readonly id: string;
  /** The topic that it was published to. */
  readonly topic: string;
  readonly group: string;
  readonly key: string | null;
  /** Headers of the publisher. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** Bytes of the whole value, if it was too large for the broker and only its beginning was kept; else null. */
  readonly cut: number | null;
  /** The value as text. */
  readonly text: string;
  readonly reason: string;
  readonly error: string;
  /** The mistakes of a value that does not fit its schema. */
  readonly issues: readonly unknown[];
  readonly attempts: number;
  /** Times that it was sent back. */
  readonly replays: number;
  readonly publishedAt: Date;
  readonly diedAt: Date;
  /** Equal for dead letters of the same failure: the reason and the error without its numbers. */
  readonly failure: string;
}

/** Dead letters of one failure. */
export interface DeadLetterGroup {
  readonly failure: string;
  readonly reason: string;
  readonly error: string;
  readonly count: number;
  /** The most times that one of them was sent back. */
  readonly replays: number;
  readonly first: Date;
  readonly last: Date;
}

const filterOptions = options("a filter of dead letters", {
  /** Ids of the messages. */
  ids: option(is.strings),
  /** The failure, as `failures()` tells it. */
  failure: option(is.string),
  /** The consumer group that failed. */
  group: option(is.string),
  /** The most that are looked at. Default 1000. */
  limit: option(is.limit(1), 1000),
});

/** A choice of dead letters; all fields given must fit. */
export interface DeadLetterFilter extends OptionsOf<typeof filterOptions.fields> {}

/** Looks into the dead letters of a topic, sends them back or discards them. */
export class DeadLetters {
  readonly #brokerOf: (topic: Topic) => PublishTarget;

  /** @internal */
  constructor(brokerOf: (topic: Topic) => PublishTarget) {
    this.#brokerOf = brokerOf;
  }

  /** The dead letters of a topic, oldest first: `await app.deadLetters.list("orders")`. */
  async list(topic: Topic<never, unknown> | string, filter: DeadLetterFilter = {}): Promise<DeadLetter[]> {
    const found: DeadLetter[] = [];
    await this.#visit(topic, filter, async (letter) => {
      found.push(letter);
      return "keep";
    });
    return found;
  }

  /** The failures of a topic with the number of their dead letters, most frequent first. */
  async failures(topic: Topic<never, unknown> | string, filter: DeadLetterFilter = {}): Promise<DeadLetterGroup[]> {
    const groups = groupBy(await this.list(topic, filter), (letter) => letter.failure);
    const summaries = [...groups.values()].map((letters): DeadLetterGroup => {
      const { failure, reason, error } = letters[0]!;
      const byTime = letters.toSorted((a, b) => a.diedAt.getTime() - b.diedAt.getTime());
      const [first, last] = [byTime[0]!.diedAt, byTime.at(-1)!.diedAt];
      const replays = letters.reduce((most, letter) => Math.max(most, letter.replays), 0);
      return { failure, reason, error, count: letters.length, replays, first, last };
    });
    return summaries.sort((a, b) => b.count - a.count);
  }

  /**
   * Sends dead letters back to their topic, for the group that failed, with all attempts before them. Resolves to the
   * number. A dead letter is removed when the broker has the message. One that was cut stays where it is.
   */
  replay(topic: Topic<never, unknown> | string, filter: DeadLetterFilter = {}): Promise<number> {
    const { publisher } = this.#brokerOf(asTopic(topic));
    const sent = new Set<string>();
    return this.#visit(topic, filter, async (letter, { id, key, body, headers, timestamp }) => {
      const known = `${letter.group}:${letter.id}`;
      // One that was sent back and has failed again already must not be sent back again and again.
      if (letter.cut !== null || sent.has(known)) return "keep";
      sent.add(known);
      const again = {
        ...withoutOwn(headers),
        // A broker that made the dead letter itself may not say for which group: then it is for all.
        ...(letter.group !== "" && { [frameworkHeaders.group]: letter.group }),
        [frameworkHeaders.replays]: String(letter.replays + 1),
      };
      const record = { topic: letter.topic, id, key, body, headers: again, timestamp, delayMs: 0, foreign: true };
      await publisher.publish(record);
      return "remove";
    });
  }

  /** Removes dead letters for good. Resolves to the number. */
  async discard(topic: Topic<never, unknown> | string, filter?: DeadLetterFilter): Promise<number> {
    assertChoice("deadLetters.discard()", filter, filterOptions.readGiven([filter]));
    return this.#visit(topic, filter, async () => "remove");
  }

  async #visit(
    name: Topic<never, unknown> | string,
    given: DeadLetterFilter | undefined,
    visit: (letter: DeadLetter, record: IncomingRecord) => Promise<"keep" | "remove">,
  ): Promise<number> {
    const topic = asTopic(name);
    const filter = filterOptions.read([given]);
    const { broker } = this.#brokerOf(topic);
    let removed = 0;
    await broker.browse(deadTopicOf(topic.name), filter.limit, async (record) => {
      const letter = letterOf(record, topic.name);
      if (!fits(letter, filter)) return "keep";
      const verdict = await visit(letter, record);
      if (verdict === "remove") removed++;
      return verdict;
    });
    return removed;
  }
}

/** Dead letters may be asked for by the name of the topic or by that of its dead letters. */
function deadTopicOf(name: string): string {
  return name.endsWith(".dead") ? name : `${name}.dead`;
}

function fits(letter: DeadLetter, { ids, failure, group }: DeadLetterFilter): boolean {
  if (ids !== undefined && !ids.includes(letter.id)) return false;
  if (failure !== undefined && letter.failure !== failure) return false;
  return group === undefined || letter.group === group;
}

function letterOf({ id, key, headers, body, timestamp }: IncomingRecord, topic: string): DeadLetter {
  const reason = headers[frameworkHeaders.reason] ?? "unknown";
  const error = headers[frameworkHeaders.error] ?? "";
  const publishedAt = new Date(timestamp);
  const diedAt = new Date(headers[frameworkHeaders.deadAt] ?? timestamp);
  const from = headers[frameworkHeaders.deadTopic];
  return {
    id,
    topic: isTopicName(from) ? from : topic.replace(/\.dead$/, ""),
    group: headers[frameworkHeaders.deadGroup] ?? "",
    key,
    headers: withoutOwn(headers),
    bytes: body,
    cut: headers[frameworkHeaders.deadCut] === undefined ? null : countIn(headers, frameworkHeaders.deadCut),
    get text() {
      return new TextDecoder().decode(body);
    },
    reason,
    error,
    issues: issuesIn(headers[frameworkHeaders.issues]),
    attempts: countIn(headers, frameworkHeaders.attempt),
    replays: countIn(headers, frameworkHeaders.replays),
    publishedAt,
    // Another program may have written anything there.
    diedAt: Number.isNaN(diedAt.getTime()) ? publishedAt : diedAt,
    failure: `${reason}: ${error.replace(/\d+/g, "#").slice(0, 200)}`,
  };
}

function issuesIn(text: string | undefined): readonly unknown[] {
  try {
    const issues: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(issues) ? issues : [];
  } catch {
    return [];
  }
}
