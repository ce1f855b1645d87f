import assert from "node:assert/strict";
import type { OpenMessagingOptions } from "../../engines/messaging/open-messaging.js";
import { batchCases } from "./batches.js";
import { consumerCases, delayCases, groupCases, seekCases } from "./consumers.js";
import { failureCases } from "./failures.js";
import { faultCases } from "./faults.js";
import { type BrokerUnderTest, type Cases, type FaultyBroker, runCase } from "./harness.js";
import { messageCases } from "./messages.js";
import { requestCases, transactionCases } from "./requests.js";

/** The functions of a test runner: those of `node:test`, vitest, jest or mocha. */
export interface TestRunner {
  describe(title: string, body: () => void): unknown;
  /** A runner that takes the time elsewhere ignores it. */
  it(title: string, body: () => Promise<void>, timeoutMs: number): unknown;
}

const optional = {
  broadcast: { ...groupCases, ...requestCases },
  delay: delayCases,
  seek: seekCases,
  transactions: transactionCases,
} satisfies Record<string, Cases>;

/** What not every broker can do. */
export type BrokerAbility = keyof typeof optional;

/** Milliseconds for one case. Servers that go away and come back take longer. */
const patience = 180_000;
const longPatience = 120_000;

/**
 * The tests of the contract of brokers. They run against a real server, which the caller starts. `abilities` names what the
 * broker can do beyond the rest; the tests hold it against `Broker.abilities`.
 */
export function testBroker(
  broker: BrokerUnderTest & { readonly abilities: readonly BrokerAbility[] },
  runner: TestRunner,
): void {
  const declared = [...broker.abilities].sort();
  add(`the contract of messaging on ${broker.name}`, broker, runner, patience, {
    async "The broker has the abilities that the test of its contract names"() {
      const { abilities, transact } = await broker.connect();
      const found: Record<BrokerAbility, boolean> = {
        broadcast: abilities.broadcast,
        delay: abilities.maxDelayMs > 0,
        seek: abilities.seek,
        transactions: transact !== undefined,
      };
      assert.deepEqual(
        (Object.keys(found) as BrokerAbility[]).filter((ability) => found[ability]),
        declared,
      );
    },
    ...messageCases,
    ...failureCases,
    ...consumerCases,
    ...batchCases,
  });
  for (const ability of declared) {
    add(`${ability} on ${broker.name}`, broker, runner, patience, optional[ability]);
  }
}

/** The tests of a server that goes away and comes back, with its data. */
export function testBrokerFaults(broker: FaultyBroker, runner: TestRunner): void {
  add(`faults of ${broker.name}`, broker, runner, longPatience, faultCases, { timeout: 120 });
}

function add<B extends BrokerUnderTest>(
  title: string,
  broker: B,
  { describe, it }: TestRunner,
  timeoutMs: number,
  cases: Cases<B>,
  options?: OpenMessagingOptions,
): void {
  describe(title, () => {
    for (const [sentence, body] of Object.entries(cases)) it(sentence, () => runCase(broker, body, options), timeoutMs);
  });
}
