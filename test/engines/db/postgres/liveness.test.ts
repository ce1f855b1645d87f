import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { OperationalError } from "../../../../src/engines/db/errors.js";
import { Liveness } from "../../../../src/engines/db/postgres/liveness.js";
import type { PgConnection } from "../../../../src/engines/db/postgres/pg-connection.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** A connection with a statement under way, as far as it is asked. */
const connectionTo = (server: string) => ({
  server,
  load: 1,
  usable: true,
  busySince: performance.now(),
  statementLimit: 0,
  bytesRead: 100,
  client: { processID: 1 },
  destroy: vi.fn(),
});

/** Checks connections each half second, while a second connection gets no response in its time, or cannot be made. */
const silentServer = ({ isReached = true } = {}) => {
  const limits: number[] = [];
  const open = (_owner: unknown, timeout: number, reach: number): Promise<never> => {
    limits.push(timeout);
    return new Promise((_resolve, reject) => {
      const lost = () => reject(new OperationalError("no answer in time", { sqlstate: "08001" }));
      setTimeout(lost, isReached ? timeout : reach);
    });
  };
  const liveness = new Liveness({ preparedStatements: true } as never, open as never);
  const pass = async (seconds: number, connections: readonly object[], each = (): void => {}): Promise<void> => {
    for (let half = 0; half < seconds * 2; half++) {
      liveness.check(connections as readonly PgConnection[]);
      await vi.advanceTimersByTimeAsync(500);
      each();
    }
  };
  return { pass, limits };
};

it("A server without any response is given up after thirty seconds, and not before", async () => {
  const { pass } = silentServer();
  const connection = connectionTo("a");
  await pass(30, [connection]);
  expect(connection.destroy).not.toHaveBeenCalled();
  await pass(5, [connection]);
  expect(connection.destroy).toHaveBeenCalledWith(expect.objectContaining({ sqlstate: "08006" }));
});

it("A server whose machine takes no connection is given up after a few seconds", async () => {
  const { pass } = silentServer({ isReached: false });
  const connection = connectionTo("a");
  await pass(5, [connection]);
  expect(connection.destroy).not.toHaveBeenCalled();
  await pass(3, [connection]);
  expect(connection.destroy).toHaveBeenCalledWith(expect.objectContaining({ sqlstate: "08006" }));
});

it("A server that responds to others is only too busy for a new connection", async () => {
  const { pass, limits } = silentServer();
  const [connection, other, elsewhere] = [connectionTo("a"), connectionTo("a"), connectionTo("b")];
  await pass(200, [connection, other], () => void other.bytesRead++);
  expect(limits.length).toBeGreaterThan(1);
  expect(connection.destroy).not.toHaveBeenCalled();
  const alone = silentServer();
  await alone.pass(40, [connection, elsewhere], () => void elsewhere.bytesRead++);
  expect(connection.destroy).toHaveBeenCalled();
});
