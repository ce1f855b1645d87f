import type { Worker } from "node:cluster";
import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { rescueUntakenConnection } from "../../../src/server/handed-connections.js";

/** A worker as node:cluster has it, with a channel that takes everything. */
class FakeProcess extends EventEmitter {
  connected = true;
  send(..._message: unknown[]): boolean {
    return true;
  }
}

function fakeWorker(): { worker: Worker; child: FakeProcess; refusals: unknown[] } {
  const child = new FakeProcess();
  const refusals: unknown[] = [];
  child.on("internalMessage", (message: { accepted: boolean; ack: unknown }) => refusals.push(message.ack));
  return { worker: { process: child } as unknown as Worker, child, refusals };
}

class Connection {
  closed = false;
  close(): void {
    this.closed = true;
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function endOfHolder(other: { connected: boolean; readyAt: (handedAt: number) => number }) {
  const holder = fakeWorker();
  const second = fakeWorker();
  let readyAt = 0;
  rescueUntakenConnection(holder.worker, () => [{ worker: second.worker, readyAt }]);
  const connection = new Connection();
  const handedAt = performance.now();
  holder.child.send({ act: "newconn", seq: 7 }, connection);
  readyAt = other.readyAt(handedAt);
  connection.close();
  expect(connection.closed).toBe(false);
  second.child.connected = other.connected;
  holder.child.connected = false;
  holder.child.emit("exit");
  await turn();
  return { closed: connection.closed, refused: holder.refusals };
}

describe("a connection that a worker has not taken when it ends", () => {
  it("A connection that was not taken is handed on if another worker has served since then", async () => {
    const end = await endOfHolder({ connected: true, readyAt: (handedAt) => handedAt });
    expect(end).toEqual({ closed: false, refused: [7] });
  });

  it("A connection that was not taken is closed if the channel of the last other worker is closed too", async () => {
    const end = await endOfHolder({ connected: false, readyAt: (handedAt) => handedAt });
    expect(end).toEqual({ closed: true, refused: [] });
  });

  it("A connection that was not taken is closed if the only other worker began to serve later", async () => {
    const end = await endOfHolder({ connected: true, readyAt: (handedAt) => handedAt + 60_000 });
    expect(end).toEqual({ closed: true, refused: [] });
  });
});
