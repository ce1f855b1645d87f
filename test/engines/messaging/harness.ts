import { randomUUID } from "node:crypto";
import type { LogFields, Logger } from "stoa";
import { type Broker, type Messaging, type OpenMessagingOptions, openMessaging } from "stoa/messaging";
import { afterEach } from "vitest";

/** A broker to run the contract against. */
export interface Backend {
  /** A new connection to the same server, as a process of its own would have. */
  connect(): Broker | Promise<Broker>;
  /** Called with each topic before it is used. */
  prepare?(topic: string): Promise<void>;
}

/** Opens clients for one test file and closes them after each test. */
export function clients(backend: Backend): (options?: OpenMessagingOptions) => Promise<Messaging> {
  const open: Messaging[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((client) => client.close()));
  });
  return async (options) => {
    const client = await openMessaging(await backend.connect(), { logger: silent(), ...options });
    open.push(client);
    return client;
  };
}

/** A client that the test closes itself. */
export async function connected(backend: Backend, options?: OpenMessagingOptions): Promise<Messaging> {
  return openMessaging(await backend.connect(), { logger: silent(), ...options });
}

let count = 0;

/** A name that no other test, and no earlier run against the same server, has used. */
export function uniqueTopic(hint = "t"): string {
  return `${hint}-${randomUUID().slice(0, 8)}-${++count}`;
}

/** A logger that keeps its lines. */
export function silent(): Logger & { readonly lines: { level: string; message: string; fields?: LogFields }[] } {
  const lines: { level: string; message: string; fields?: LogFields }[] = [];
  const at = (level: string) => (message: string, fields?: LogFields) => {
    lines.push({ level, message, ...(fields && { fields }) });
    if (process.env.STOA_TEST_LOG) console.log(level, message, fields);
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
  patience = 25_000,
): Promise<void> {
  const deadline = Date.now() + patience;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`${what} did not come true`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A promise and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
