import type { KafkaClientConsumer, KafkaLibrary } from "../library.js";

/**
 * Calls a function before the consumer returns to its group, which is being shared again, and waits for it. The library has no
 * such hook: it returns in the turn in which it hears of the change, and what is not committed by then is handled twice.
 */
export function beforeRejoin(library: KafkaLibrary, consumer: KafkaClientConsumer, call: () => Promise<void>): void {
  const { kPerformWithRetry } = library;
  const perform = consumer[kPerformWithRetry]!;
  consumer[kPerformWithRetry] = (name, operation, ...rest) => {
    const delayed: typeof operation = (ended) => {
      const go = () => operation(ended);
      // Without its return the consumer would be out of its group.
      void call().then(go, go);
    };
    return perform.call(consumer, name, name === "rejoinGroup" ? delayed : operation, ...rest);
  };
}
