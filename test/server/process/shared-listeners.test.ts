import type { Worker } from "node:cluster";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { SharedListeners } from "../../../src/server/process/shared-listeners.js";

/** A worker whose messages the test gets. */
function workerOf(heard: (message: { readonly stoa: string; readonly port?: number }) => void): Worker {
  return { isConnected: () => true, isDead: () => false, send: heard } as unknown as Worker;
}

it("A connection that did not reach its worker is handed out again, and the worker gets further ones", async () => {
  const listeners = new SharedListeners();
  const connections: (() => void)[] = [];
  const arrived = () => new Promise<void>((resolve) => connections.push(resolve));
  let port = 0;
  const worker = workerOf((message) => {
    if (message.stoa === "listening") port = message.port!;
    else connections.shift()!();
  });
  await listeners.open(worker, "key", { host: "127.0.0.1", port: 0 });
  const first = arrived();
  const client = connect(port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => {
    client.destroy();
    listeners.close();
    listeners.lost(worker);
  });
  await first;
  const again = arrived();
  for (let turns = 0; turns < 5; turns++) listeners.turned(worker);
  await again;
  const other = arrived();
  listeners.took(worker, "key", true);
  const second = connect(port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void second.destroy());
  await other;
  listeners.took(worker, "key", true);
  expect(connections).toEqual([]);
});
