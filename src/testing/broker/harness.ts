import assert from "node:assert/strict";
import type { Broker } from "../../engines/messaging/broker.js";
import type { Messaging } from "../../engines/messaging/messaging.js";
import { type OpenMessagingOptions, openMessaging } from "../../engines/messaging/open-messaging.js";
import { deferred } from "../../kit/deferred.js";
import type { LogFields, Logger } from "../../kit/logger.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import type { StandardSchema } from "../../validation/standard-schema.js";

/** A broker under test. */
export interface BrokerUnderTest {
  /** The broker in the names of the tests. */
  readonly name: string;
  /** Creates a broker for the same server, as another process would. The test opens and closes it. */
  connect(): Broker | Promise<Broker>;
  /** Called with each topic before it is used. */
  prepare?(topic: string): Promise<void>;
}

/** A broker whose server the tests can stop. */
export interface FaultyBroker extends BrokerUnderTest {
  /** Ends the server, or cuts its connections, at once. */
  stop(): Promise<void>;
  /** Starts it again, with its data. */
  start(): Promise<void>;
}

/** The means of one case. */
export interface CaseContext<B = BrokerUnderTest> {
  readonly broker: B;
  /** A client, and a topic that no other case has used. */
  readonly client: Messaging;
  readonly name: string;
  /** Opens a further client that is closed after the case. */
  open(options?: OpenMessagingOptions): Promise<Messaging>;
  /** Opens a client that the case closes itself. */
  connect(): Promise<Messaging>;
  /** A further topic. */
  fresh(hint?: string): Promise<string>;
}

/** Cases by the sentences that they prove. */
export type Cases<B = BrokerUnderTest> = Readonly<Record<string, (context: CaseContext<B>) => Promise<void>>>;

/** Short pauses, so that tests of attempts end soon. */
export const quick = { delay: 0.02, factor: 1, jitter: 0 };

export async function runCase<B extends BrokerUnderTest>(
  broker: B,
  body: (context: CaseContext<B>) => Promise<void>,
  options?: OpenMessagingOptions,
): Promise<void> {
  const clients: Messaging[] = [];
  const connect = async (given?: OpenMessagingOptions) =>
    openMessaging(await broker.connect(), { logger: silent(), ...given });
  const open = async (given?: OpenMessagingOptions) => {
    const client = await connect(given);
    clients.push(client);
    return client;
  };
  const fresh = async (hint?: string) => {
    const topic = uniqueTopic(hint);
    await broker.prepare?.(topic);
    return topic;
  };
  try {
    await body({ broker, client: await open(options), name: await fresh(), open, connect, fresh });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

let count = 0;

/** A name that no other test, and no earlier run against the same server, has used. */
export function uniqueTopic(hint = "t"): string {
  return `${hint}-${nodeCrypto().randomUUID().slice(0, 8)}-${++count}`;
}

/** A logger that keeps its lines. */
export function silent(): Logger & { readonly lines: { level: string; message: string; fields?: LogFields }[] } {
  const lines: { level: string; message: string; fields?: LogFields }[] = [];
  const at = (level: string) => (message: string, fields?: LogFields) => {
    lines.push({ level, message, ...(fields && { fields }) });
    if (process.env["STOA_TEST_LOG"]) console.log(level, message, fields);
  };
  const logger = {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => logger,
    lines,
  };
  return logger;
}

/** Waits until a condition holds. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = "the condition",
  patience = 150_000,
): Promise<void> {
  const deadline = Date.now() + patience;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`${what} did not come true`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The values that a new consumer gets: more are added as they arrive. */
export async function collect<T = unknown>(client: Messaging, topic: string, options = {}): Promise<T[]> {
  const seen: T[] = [];
  await client.subscribe(topic, options, (message) => {
    seen.push(message.value as T);
  });
  return seen;
}

/** A promise and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; readonly passed: boolean; open(): void } {
  const { promise, resolve } = deferred<void>();
  const made = {
    opened: promise,
    passed: false,
    open() {
      made.passed = true;
      resolve();
    },
  };
  return made;
}

/** Compares the members that are expected, and leaves out the others. */
export function like(actual: unknown, expected: object): void {
  assert.deepEqual(chosen(actual, expected), expected);
}

function chosen(actual: unknown, expected: unknown): unknown {
  if (typeof actual !== "object" || actual === null || typeof expected !== "object" || expected === null) return actual;
  if (Array.isArray(actual)) return actual.map((item, index) => chosen(item, (expected as unknown[])[index]));
  const members = actual as Record<string, unknown>;
  return Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, chosen(members[name], value)]));
}

/** A schema without a library: an object with a number of this name. */
export function numberIn<Name extends string>(name: Name): StandardSchema<Record<Name, number>> {
  const validate = (value: unknown) =>
    typeof (value as Record<string, unknown> | null)?.[name] === "number"
      ? { value: value as Record<Name, number> }
      : { issues: [{ message: "expected a number", path: [name] }] };
  return { "~standard": { version: 1, vendor: "stoa", validate } };
}
