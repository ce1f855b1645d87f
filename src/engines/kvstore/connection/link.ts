import { timeLimit } from "../../../kit/time/time-limit.js";
import { KvStoreError } from "../errors.js";
import { isHopeless, unreachable } from "../translate-error.js";
import { pauseBefore, type RawClient } from "./raw-client.js";

/** One client of ioredis, with the newest reason why it has no connection. */
export class Link {
  readonly client: RawClient;
  readonly #address: string;
  /** Counts connections. */
  #epoch = 0;
  /** Attempts to connect that failed since the last connection; the loss of a connection is not one. */
  #failures = 0;
  /** Times since the last connection that the client has given up by itself. */
  #ends = 0;
  #wasReady = false;
  #lastError: unknown = null;
  #closed = false;

  /** With `handshakeMs` a connection is given up whose handshake takes longer: `open` bounds only the first one. */
  constructor(client: RawClient, address: string, handshakeMs?: number) {
    this.client = client;
    this.#address = address;
    // Without a listener ioredis prints errors; a cluster tells the reason with the error of a node.
    client.on("error", (error: unknown) => this.#note(error));
    client.on("node error", (error: unknown) => this.#note(error));
    // Errors of the handshake come after it: they are the newest again.
    let stop = (): void => undefined;
    client.on("connect", () => {
      this.#lastError = null;
      if (handshakeMs === undefined) return;
      stop = timeLimit(handshakeMs, () => client.stream?.destroy(new Error("no reply in time")));
    });
    client.on("ready", () => {
      stop();
      this.#epoch++;
      this.#wasReady = true;
      this.#failures = 0;
      this.#ends = 0;
    });
    client.on("close", () => {
      stop();
      if (this.#wasReady) this.#wasReady = false;
      else this.#failures++;
    });
  }

  get ready(): boolean {
    return !this.#closed && this.client.status === "ready";
  }

  /** The reason to fail at once: the server could not be reached when it was last tried. Null if a call may wait. */
  get down(): KvStoreError | null {
    if (this.#closed) return closedError();
    return this.#failures > 0 && !this.ready ? unreachable(this.#address, this.#lastError) : null;
  }

  /** The number of the present connection. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * Gives up a connection whose replies may no longer belong to its calls, and makes another. Nothing happens if it has
   * been replaced already. The connections of a cluster are left to ioredis.
   */
  renew(epoch: number, reason: Error): void {
    if (epoch === this.#epoch && this.ready) this.client.stream?.destroy(reason);
  }

  /** Calls back when the connection is lost and is not made again by itself. */
  onEnd(ended: () => void): void {
    this.client.on("end", ended);
  }

  /**
   * Makes the connection again whenever the client has given up. With Sentinels ioredis 6.0 gives up permanently if one of them
   * tells of another master while it asks for the master, as after a failover.
   */
  keepAlive(): void {
    this.onEnd(() => {
      if (this.#closed) return;
      setTimeout(
        () => {
          if (!this.#closed && this.client.status === "end") this.client.connect().catch(() => undefined);
        },
        pauseBefore(++this.#ends),
      ).unref();
    });
  }

  get lastError(): unknown {
    return this.#lastError;
  }

  /** Connects; a server that just starts is waited for until the time is up, a wrong password is not. */
  open(milliseconds: number): Promise<void> {
    const { client } = this;
    return new Promise((resolve, reject) => {
      const finish = (error: KvStoreError | null): void => {
        stop();
        client.off("ready", onReady);
        client.off("end", fail);
        client.off("error", onError);
        client.off("node error", onError);
        if (error === null) resolve();
        else reject(error);
      };
      const fail = (): void => finish(unreachable(this.#address, this.#lastError ?? "no reply in time"));
      // The database is chosen before `ready`; a refusal is an event, and the connection would use number 0.
      const onReady = (): void => (isHopeless(this.#lastError) ? fail() : finish(null));
      const onError = (error: unknown): void => {
        if (isHopeless(error)) fail();
      };
      const stop = timeLimit(milliseconds, fail);
      client.on("ready", onReady);
      client.on("end", fail);
      client.on("error", onError);
      client.on("node error", onError);
      if (this.ready) finish(null);
      // Rejections come as events too, which tell the reason.
      else if (client.status === "wait" || client.status === "end") client.connect().catch(() => undefined);
    });
  }

  close(): void {
    this.#closed = true;
    this.client.disconnect();
  }

  #note(error: unknown): void {
    if (error instanceof Error && error.message.startsWith("Command queue state error")) {
      this.renew(this.#epoch, new Error("the server sent a reply to no call"));
      return;
    }
    // "Connection is closed" only follows from the reason that was told before.
    if (this.#lastError !== null && error instanceof Error && consequences.test(error.message)) return;
    this.#lastError = error;
  }
}

const consequences = /^(?:Connection is closed|None of startup nodes|Failed to refresh slots cache|Cluster is)/;

export function closedError(): KvStoreError {
  return new KvStoreError("CLOSED", "the key-value store is closed");
}
