import type { ClientHttp2Session } from "node:http2";
import type { Connection } from "./connection.js";

/** A connection that takes a call. */
export interface Picked {
  readonly connection: Connection;
  readonly session: ClientHttp2Session;
}

/** Chooses the connection of each call. */
export interface Picker {
  /** Rejects with UNAVAILABLE if no address can take calls. */
  pick(): Picked | Promise<Picked>;
  close(): void;
}

/** All calls go to the first address that can be connected to. After the connection is lost, the first one is tried again. */
export class PickFirst implements Picker {
  #current: Connection | null = null;
  #search: Promise<Picked> | null = null;

  constructor(private readonly connections: readonly Connection[]) {}

  pick(): Picked | Promise<Picked> {
    const session = this.#current?.open ?? null;
    if (session !== null) return { connection: this.#current!, session };
    this.#search ??= this.#find().finally(() => {
      this.#search = null;
    });
    return this.#search;
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }

  async #find(): Promise<Picked> {
    let failure: unknown;
    for (const connection of this.connections) {
      try {
        const session = await connection.ready();
        this.#current = connection;
        return { connection, session };
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }
}
