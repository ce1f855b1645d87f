/** The tests that every broker must pass, for packages with a broker. They need no test runner of a certain make. */
export type { BrokerUnderTest, FaultyBroker } from "../../testing/broker/harness.js";
export {
  type BrokerAbility,
  type TestRunner,
  testBroker,
  testBrokerFaults,
} from "../../testing/broker/test-broker.js";
