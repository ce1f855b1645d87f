import { rejectLater } from "../../../kit/time/reject-later.js";
import { within } from "../../../kit/time/within.js";
import type { Connection, ConnectionOwner } from "../connection.js";
import type { DatabaseStats } from "../database.js";
import { OperationalError } from "../errors.js";
import type { Execution } from "./execution.js";
import { Outage } from "./outage.js";
import { WaitingLine } from "./waiting-line.js";

export interface PoolOptions {
  readonly size: number;
  /** Milliseconds. */
  readonly acquireTimeout: number;
  /** The most statements that are sent on a connection before the first has its response. */
  readonly depth: number;
  /** Milliseconds after which a connection is replaced by a new one; 0 for never. */
  readonly maxLifetime: number;
  /** Milliseconds after which a connection without work is closed; 0 for never. */
  readonly idleTimeout: number;
  connect(owner: ConnectionOwner): Promise<Connection>;
}

/** Milliseconds that work under way gets when the pool is closed. */
const closeGrace = 5000;

/**
 * The connections to a database. A single statement goes to the connection with the least work, after the statements
 * under way there; a transaction gets a connection for itself.
 */
export class Pool implements ConnectionOwner {
  readonly #options: PoolOptions;
  readonly #shared: Connection[] = [];
  readonly #exclusive = new Set<Connection>();
  readonly #line: WaitingLine;
  #connecting = 0;
  readonly #outage = new Outage(() => this.#grow());
  #closed = false;
  #onEmpty: (() => void) | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#line = new WaitingLine(options.acquireTimeout, () => this.#whyWaiting());
  }

  /** Opens the first connection; throws when that fails. */
  async open(): Promise<void> {
    this.#shared.push(this.#dated(await this.#options.connect(this)));
  }

  /** Runs an execution on a connection that others use too. */
  submit(execution: Execution): void {
    const connection = this.#closed ? null : this.#pick();
    if (connection !== null) {
      execution.carrier = connection;
      connection.send(execution);
      return;
    }
    const refusal = this.#refusal();
    if (refusal !== null) rejectLater(refusal).catch((error: unknown) => execution.fail(error));
    else this.#line.addExecution(execution);
  }

  /** Runs an execution on a connection that it has alone, and resets the connection afterwards. */
  submitAlone(execution: Execution): void {
    this.acquire().then(
      (connection) => {
        const release = (): void => this.release(connection);
        if (execution.settled) return release();
        connection.altered = true;
        execution.carrier = connection;
        connection.send(execution);
        execution.promise.then(release, release);
      },
      (error: unknown) => execution.fail(error),
    );
  }

  /** Gives a connection to the caller alone, who must release it. */
  acquire(signal?: AbortSignal): Promise<Connection> {
    const refusal = this.#refusal();
    if (refusal !== null) return rejectLater(refusal);
    const idle = this.#shared.find((connection) => connection.load === 0 && connection.available);
    if (idle !== undefined) return Promise.resolve(this.#take(idle));
    if (this.#mayGrow()) this.#grow();
    return this.#line.addCaller(signal);
  }

  /** Takes a connection back. One in the middle of something, or with an altered session, is reset before its next use. */
  release(connection: Connection): void {
    if (!this.#exclusive.has(connection)) return;
    if (connection.usable && (!connection.clean || connection.altered || connection.load > 0)) {
      void this.#restore(connection);
      return;
    }
    this.#exclusive.delete(connection);
    if (!connection.usable) {
      this.#replace();
    } else if (this.#closed) {
      void connection.end();
    } else {
      this.#shared.push(connection);
      this.onProgress(connection);
    }
    this.#checkEmpty();
  }

  onProgress(connection: Connection): void {
    if (connection.retired && connection.load === 0) this.#closeRetired(connection);
    if (this.#line.empty || !connection.available || this.#exclusive.has(connection)) return;
    this.#serve(connection);
  }

  onRetry(execution: Execution): void {
    // A statement of a session stays on the connection of that session.
    const carrier = execution.carrier as Connection | null;
    if (carrier !== null && this.#exclusive.has(carrier)) carrier.send(execution);
    else this.submit(execution);
  }

  onGone(connection: Connection): void {
    const index = this.#shared.indexOf(connection);
    if (index !== -1) this.#shared.splice(index, 1);
    // One that is with a caller is still counted until the caller gives it back.
    if (!this.#exclusive.has(connection)) this.#replace();
    this.#checkEmpty();
  }

  stats(): DatabaseStats {
    const total = this.#open;
    const idle = this.#shared.filter((connection) => connection.load === 0).length;
    return { total, idle, inUse: total - idle, waiting: this.#line.length };
  }

  /** Every open connection. */
  *connections(): IterableIterator<Connection> {
    yield* this.#shared;
    yield* this.#exclusive;
  }

  /** Closes a connection that was not used for long, and retires one that is old. Called about twice a second. */
  tend(): void {
    const now = performance.now();
    const { idleTimeout } = this.#options;
    if (idleTimeout > 0) this.#closeIdle(now - idleTimeout);
    this.#retireOld(now);
  }

  /** Lets work under way finish for a while, then ends every connection. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#outage.end();
    this.#line.refuseAll(closedError());
    const ending = [...this.#shared].map((connection) => connection.end());
    const left = this.#exclusive.size === 0 ? [] : [new Promise<void>((resolve) => (this.#onEmpty = resolve))];
    await within(Promise.allSettled([...ending, ...left]), closeGrace);
    for (const connection of [...this.connections()]) connection.destroy(closedError());
  }

  get #open(): number {
    return this.#shared.length + this.#exclusive.size;
  }

  /** Closes one connection that has had no work since before `time`, unless it is the last. */
  #closeIdle(time: number): void {
    if (this.#open <= 1) return;
    const index = this.#shared.findIndex((connection) => connection.load === 0 && connection.busySince < time);
    if (index === -1) return;
    const [connection] = this.#shared.splice(index, 1);
    void connection!.end();
  }

  /** Retires one connection whose time is over. One at a time, so that they are not all opened again at once. */
  #retireOld(now: number): void {
    for (const connection of this.connections()) {
      if (connection.retired || connection.retireAt > now) continue;
      connection.retired = true;
      this.onProgress(connection);
      return;
    }
  }

  /**
   * The connection with the least to do; null while another can be opened, or when all have enough. One that is slow is
   * not given more, since that would wait behind it. While callers wait for their own connection, the first ones are
   * left to run dry for them.
   */
  #pick(): Connection | null {
    const spared = this.#line.callers;
    let best: Connection | null = null;
    let least = this.#options.depth;
    for (let i = spared; i < this.#shared.length; i++) {
      const connection = this.#shared[i]!;
      if (!connection.available) continue;
      const load = connection.load;
      if (load === 0) return connection;
      if (load < least && !connection.slow) {
        best = connection;
        least = load;
      }
    }
    if (!this.#mayGrow()) return best;
    // The first connection that is free takes it: the new one or another.
    this.#grow();
    return null;
  }

  /** Gives a connection its time. Those that were opened together get different ones. */
  #dated(connection: Connection): Connection {
    const { maxLifetime } = this.#options;
    if (maxLifetime > 0) connection.retireAt = performance.now() + maxLifetime * (0.9 + Math.random() * 0.2);
    return connection;
  }

  #closeRetired(connection: Connection): void {
    const index = this.#shared.indexOf(connection);
    if (index === -1) return;
    this.#shared.splice(index, 1);
    void connection.end().catch(() => {});
    this.#replace();
  }

  #take(connection: Connection): Connection {
    this.#shared.splice(this.#shared.indexOf(connection), 1);
    this.#exclusive.add(connection);
    return connection;
  }

  #serve(connection: Connection): void {
    while (!this.#line.empty && connection.available) {
      if (this.#line.nextIsCaller) {
        if (connection.load > 0) return;
        this.#line.shiftCaller()?.(this.#take(connection));
        return;
      }
      if (connection.load >= this.#options.depth) return;
      if (connection.load > 0 && (this.#connecting > 0 || connection.slow)) return;
      const execution = this.#line.shiftExecution();
      if (execution === undefined) return;
      execution.carrier = connection;
      connection.send(execution);
    }
  }

  async #restore(connection: Connection): Promise<void> {
    try {
      await connection.reset();
      if (!connection.clean || connection.load > 0) throw new Error("the connection could not be reset");
    } catch (error) {
      connection.destroy(error as Error);
      if (connection.usable) return;
    }
    this.release(connection);
  }

  #mayGrow(): boolean {
    if (this.#closed) return false;
    // While the database is down one attempt at a time is enough, and the timer makes it.
    if (this.#outage.lasts) return false;
    return this.#open + this.#connecting < this.#options.size;
  }

  #grow(): void {
    this.#connecting++;
    this.#options.connect(this).then(
      (connection) => {
        this.#connecting--;
        this.#outage.end();
        if (this.#closed) {
          void connection.end();
        } else {
          this.#shared.push(this.#dated(connection));
          this.onProgress(connection);
          if (!this.#line.empty && this.#mayGrow()) this.#grow();
        }
      },
      (error: Error) => {
        this.#connecting--;
        // The server may have no room for more: the open connections have to do until another client closes one.
        if (!this.#closed) this.#outage.failed(error);
      },
    );
  }

  /** Replaces a lost connection if calls are waiting, or none is left. */
  #replace(): void {
    const needed = !this.#line.empty || this.#open === 0;
    if (needed && this.#connecting === 0 && this.#mayGrow()) this.#grow();
  }

  #refusal(): OperationalError | null {
    if (this.#closed) return closedError();
    // Calls in the first seconds of an outage wait, as it may be a restart. Later ones fail at once. A server that refuses
    // more connections and serves those that are open is not down: a call waits for one of these.
    return this.#isServed() ? null : this.#outage.errorAfter(this.#options.acquireTimeout);
  }

  /** True if a connection works. A caller may hold one that is lost until it gives it back. */
  #isServed(): boolean {
    for (const { usable } of this.connections()) if (usable) return true;
    return false;
  }

  #whyWaiting(): OperationalError {
    const unreachable = this.#outage.errorAfter(0);
    if (unreachable !== null && !this.#isServed()) return unreachable;
    const refused = unreachable === null ? "" : `, and no more can be opened (${unreachable.message})`;
    return new OperationalError(
      `no connection became free within ${this.#options.acquireTimeout} ms: all ${this.#open} are in use${refused}. ` +
        "Inside a transaction, use the transaction's own methods: those of the database take a second connection",
      { sqlstate: "53300" },
    );
  }

  #checkEmpty(): void {
    if (this.#exclusive.size === 0) this.#onEmpty?.();
  }
}

function closedError(): OperationalError {
  return new OperationalError("the database has been closed", { sqlstate: "08003" });
}
