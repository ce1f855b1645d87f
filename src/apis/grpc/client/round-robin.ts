import type { ClientHttp2Session } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { type Deferred, deferred } from "../../../kit/deferred.js";
import { backoff } from "../../../kit/time/backoff.js";
import { GrpcError } from "../grpc-error.js";
import { GrpcStatus } from "../status.js";
import { frameOf } from "../wire/frames.js";
import { Attempt } from "./attempt.js";
import type { Connection } from "./connection.js";
import type { Picked, Picker } from "./pick-first.js";

interface RoundRobinSettings {
  /** Seconds before an address is tried again; twice as long each time. */
  readonly retryDelay: number;
  /** The name of a service at the health service of each address; null to ask for no health. */
  readonly healthOf: string | null;
}

/** The longest time between two connections to an address that is down, in milliseconds. */
const longestPause = 30_000;

/** Calls go to all addresses in turn that are connected and serve. The others are tried again until the channel is closed. */
export class RoundRobin implements Picker {
  readonly #settings: RoundRobinSettings;
  readonly #members: readonly Member[];
  readonly #closed = new AbortController();
  #started = false;
  #turn = 0;
  /** Resolved when the state of a member changes. */
  #change: Deferred<void> = deferred();

  constructor(connections: readonly Connection[], settings: RoundRobinSettings) {
    this.#members = connections.map((connection) => ({ connection, session: null, failure: null }));
    this.#settings = settings;
  }

  pick(): Picked | Promise<Picked> {
    if (!this.#started) {
      this.#started = true;
      for (const member of this.#members) void this.#keep(member);
    }
    return this.#ready() ?? this.#wait();
  }

  close(): void {
    for (const member of this.#members)
      this.#set(member, null, new GrpcError("CANCELLED", "the channel has been closed"));
    this.#closed.abort();
    for (const { connection } of this.#members) connection.close();
  }

  #ready(): Picked | null {
    const { length } = this.#members;
    for (let i = 0; i < length; i++) {
      const { connection, session } = this.#members[this.#turn++ % length]!;
      if (session !== null && !session.closed && !session.destroyed) return { connection, session };
    }
    return null;
  }

  async #wait(): Promise<Picked> {
    for (;;) {
      const picked = this.#ready();
      if (picked !== null) return picked;
      if (this.#members.every(({ failure }) => failure !== null)) throw this.#members.at(-1)!.failure;
      await this.#change.promise;
    }
  }

  /** Keeps an address connected. */
  async #keep(member: Member): Promise<void> {
    const { signal } = this.#closed;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const session = await member.connection.ready();
        failures = 0;
        await this.#use(member, session);
        this.#set(member, null, null);
      } catch (error) {
        this.#set(member, null, error);
      }
      await this.#pause(failures, signal);
    }
  }

  /** Until the connection is lost, or the server closes it. */
  async #use(member: Member, session: ClientHttp2Session): Promise<void> {
    if (session.closed || session.destroyed) return;
    const left = new AbortController();
    const gone = new Promise<void>((resolve) => {
      const leave = (): void => {
        left.abort();
        resolve();
      };
      session.once("goaway", leave);
      session.once("close", leave);
    });
    const { healthOf } = this.#settings;
    for (let failures = 0; healthOf !== null && !left.signal.aborted; failures++) {
      try {
        for await (const isServing of watchHealth(session, healthOf, left.signal)) {
          failures = 0;
          if (isServing) this.#set(member, session, null);
          else this.#set(member, null, new GrpcError("UNAVAILABLE", `${member.connection.host} is not serving`));
        }
      } catch (error) {
        // A server without the health service counts as healthy (gRFC A17).
        if (error instanceof GrpcError && error.grpcCode === GrpcStatus.UNIMPLEMENTED) break;
        if (!left.signal.aborted) this.#set(member, null, error);
      }
      await this.#pause(failures, left.signal);
    }
    if (!left.signal.aborted) this.#set(member, session, null);
    await gone;
  }

  #set(member: Member, session: ClientHttp2Session | null, failure: unknown): void {
    // The reason stays: calls that are repeated now must not wait.
    if (this.#closed.signal.aborted) return;
    member.session = session;
    member.failure = failure;
    this.#change.resolve();
    this.#change = deferred();
  }

  /** The timer does not keep the process alive. */
  #pause(failures: number, signal: AbortSignal): Promise<void> {
    const milliseconds = backoff(failures, this.#settings.retryDelay * 1000, longestPause);
    return delay(milliseconds, undefined, { ref: false, signal }).catch(() => {});
  }
}

interface Member {
  readonly connection: Connection;
  /** Null while it takes no calls. */
  session: ClientHttp2Session | null;
  /** The reason why it takes none; null while it connects for the first time, and after a connection was lost. */
  failure: unknown;
}

/** Largest response of the health service in bytes. */
const maxResponse = 1024;

/**
 * True while the server serves, each time that its health changes (`grpc.health.v1.Health/Watch`). The stream is no call of
 * the application: it does not keep the process alive.
 */
async function* watchHealth(
  session: ClientHttp2Session,
  service: string,
  signal: AbortSignal,
): AsyncGenerator<boolean> {
  const headers = {
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Watch",
    "content-type": "application/grpc",
    te: "trailers",
    "user-agent": "stoa",
  };
  const attempt = new Attempt(session, headers, maxResponse, () => {});
  const cancel = (): void => attempt.cancel(new GrpcError("CANCELLED", "the connection is left"));
  signal.addEventListener("abort", cancel);
  try {
    const name = Buffer.from(service);
    // HealthCheckRequest: field 1 is the name. HealthCheckResponse: field 1 is the status, and 1 means SERVING.
    attempt.end(frameOf(name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, name.length]), name]), 0));
    for (let frame = await attempt.next(); frame !== null; frame = await attempt.next()) {
      yield frame.data[0] === 0x08 && frame.data[1] === 1;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}
