import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { takeFolder } from "./data-folder.js";
import { type KeptRequest, readLines, send } from "./kept-client.js";
import { openFolder } from "./open-folder.js";
import { loadPglite, type Pglite } from "./pglite-module.js";

/**
 * Keeps embedded databases open for processes that come and go. A program that is restarted for each change of its code
 * would spend half of its start on opening its database, and no command could use the folder at the same time.
 */
export class DatabaseKeeper {
  readonly #kept = new Map<string, Promise<KeptDatabase>>();

  /** Opens the database in a folder, once. Resolves to the socket at which it is served. */
  async open(folder: string): Promise<string> {
    const kept = this.#kept.get(folder) ?? KeptDatabase.open(folder, () => this.#kept.delete(folder));
    this.#kept.set(folder, kept);
    try {
      return (await kept).path;
    } catch (error) {
      this.#kept.delete(folder);
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#kept.values()].map(async (kept) => (await kept).close()));
  }
}

interface Question {
  readonly client: Socket;
  /** Bytes of the protocol; true to give the client the session alone, and false to end that. */
  readonly asked: Uint8Array | boolean;
}

/**
 * A database and its clients. They share its one session: a client in a transaction has it alone until the transaction
 * ends, and so has a client that asks for it: settings and locks of a session would be those of all.
 */
class KeptDatabase {
  readonly path: string;
  readonly #pglite: Pglite;
  readonly #release: () => Promise<void>;
  readonly #onFailure: () => void;
  readonly #clients = new Set<Socket>();
  readonly #server = createServer((client) => this.#welcome(client));
  #questions: Question[] = [];
  /** The client in whose transaction the session is. */
  #owner: Socket | null = null;
  /** The client that has asked for the session. */
  #alone: Socket | null = null;
  #working = false;

  private constructor(path: string, pglite: Pglite, release: () => Promise<void>, onFailure: () => void) {
    this.path = path;
    this.#pglite = pglite;
    this.#release = release;
    this.#onFailure = onFailure;
    pglite.onNotification((channel, payload) => {
      for (const client of this.#clients) send(client, { channel, payload });
    });
  }

  static async open(folder: string, onFailure: () => void): Promise<KeptDatabase> {
    const module = await loadPglite();
    // Only this user may enter it.
    const place = await mkdtemp(join(tmpdir(), "stoa-kept-"));
    const path = join(place, "socket");
    const releasePlace = (): Promise<void> => rm(place, { recursive: true, force: true });
    try {
      const taken = await takeFolder(folder, path);
      if (typeof taken === "string") throw new Error("another process keeps this database");
      const release = async (): Promise<void> => {
        await taken.release();
        await releasePlace();
      };
      try {
        const kept = new KeptDatabase(path, await openFolder(module, taken), release, onFailure);
        await new Promise<void>((resolve, reject) => kept.#server.once("error", reject).listen(path, resolve));
        return kept;
      } catch (error) {
        await release();
        throw error;
      }
    } catch (error) {
      await releasePlace();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const client of this.#clients) client.destroy();
    try {
      await this.#pglite.close();
    } finally {
      await this.#release();
    }
  }

  #welcome(client: Socket): void {
    this.#clients.add(client);
    readLines(client, (line) => {
      try {
        const request = JSON.parse(line) as KeptRequest;
        const asked = "alone" in request ? request.alone : Buffer.from(request.bytes, "base64");
        this.#questions.push({ client, asked });
      } catch {
        // No client of ours: it must not end the process that keeps the database.
        client.destroy();
      }
      void this.#work();
    });
    client.on("error", () => {});
    client.once("close", () => {
      this.#clients.delete(client);
      this.#questions = this.#questions.filter((question) => question.client !== client);
      // Its transaction and its locks end with it. No client waits for the response.
      if (this.#owner === client || this.#alone === client) {
        this.#questions.unshift({ client, asked: leave }, { client, asked: false });
      }
      void this.#work();
    });
  }

  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      const { client, asked } = next;
      if (typeof asked === "boolean") {
        this.#alone = asked ? client : null;
        send(client, { messages: [] });
        continue;
      }
      try {
        const messages = await this.#pglite.execProtocolStream(asked, { throwOnError: false });
        const status = messages.findLast(({ name }) => name === "readyForQuery");
        this.#owner = status?.name === "readyForQuery" && status.status !== "I" ? client : null;
        if (this.#owner === client && !this.#clients.has(client)) this.#questions.unshift({ client, asked: leave });
        // The message of an error is not among its properties for JSON.
        send(client, {
          messages: messages.map((each) => (each.name === "error" ? { ...each, message: each.message } : each)),
        });
      } catch (error) {
        send(client, { failure: (error as Error).message });
        this.#onFailure();
        await this.close().catch(() => {});
        return;
      }
    }
    this.#working = false;
  }

  #take(): Question | undefined {
    const owner = this.#owner ?? this.#alone;
    const index = owner === null ? 0 : this.#questions.findIndex(({ client }) => client === owner);
    return index === -1 ? undefined : this.#questions.splice(index, 1)[0];
  }
}

/** A simple query of the protocol; the point is its length. */
const leave = Buffer.from("Q\0\0\0.rollback; select pg_advisory_unlock_all()\0", "latin1");
