import { type Broker, type Messaging, type OpenMessagingOptions, openMessaging } from "stoa/messaging";
import { afterEach } from "vitest";
import { silent } from "../../../src/testing/broker/harness.js";

export { gate, silent, uniqueTopic, until } from "../../../src/testing/broker/harness.js";

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
