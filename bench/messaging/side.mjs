/** The workloads of a side, from the calls that it offers. */
const batchSize = 100;

export const value = (n) => ({ id: n, name: "a book", price: 12.5, tags: ["one", "two"] });

export function side(workload, { declare, single, batch, consume, end }) {
  const publishBatches = async (topic, count) => {
    const numbers = Array.from({ length: count / batchSize }, (_, n) => n * batchSize);
    await inTurn(numbers, 5, (first) =>
      batch(
        topic,
        Array.from({ length: batchSize }, (_, n) => first + n),
      ),
    );
  };
  return {
    async prepare(topic, count) {
      await declare(topic);
      if (workload === "consume") await publishBatches(topic, count);
    },
    async run(topic, count) {
      if (workload === "batches") return publishBatches(topic, count);
      if (workload === "singles")
        return inTurn(
          Array.from({ length: count }, (_, n) => n),
          50,
          (n) => single(topic, n),
        );
      let seen = 0;
      let all;
      const done = new Promise((resolve) => {
        all = resolve;
      });
      const consumer = await consume(topic, async () => {
        if (++seen === count) all();
      });
      await done;
      await end(consumer);
    },
  };
}

async function inTurn(items, atOnce, work) {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++]);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

export function quiet() {
  const logger = { debug() {}, info() {}, warn() {}, error: console.error, child: () => logger };
  return logger;
}
