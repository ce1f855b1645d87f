import { createInterface } from "node:readline";

/** A client's side of `prepareClient`: a line with seconds comes in, a line with the figures goes out. */
export async function answerSlices(measure) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { latencies, requests } = await measure(performance.now() + Number(line) * 1000);
    latencies.sort((a, b) => a - b);
    const at = (share) => latencies[Math.floor((latencies.length - 1) * share)];
    console.log(JSON.stringify({ requests, p50: at(0.5), p99: at(0.99) }));
  }
  process.exit();
}

/** Ends the client after an error that must not happen while the server runs. */
export function giveUp(reason) {
  console.error(reason);
  process.exit(1);
}
