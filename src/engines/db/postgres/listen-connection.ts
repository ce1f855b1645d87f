import { backoff } from "../../../kit/time/backoff.js";
import type { Connection, ConnectionOwner } from "../connection.js";
import type { EngineContext } from "../engine.js";
import { Execution } from "../pool/execution.js";
import { quoteIdentifier } from "../sql/sql.js";
import { internalStatement } from "../statements.js";
import type { PgConnection } from "./pg-connection.js";

/** Milliseconds without a message after which the connection is tested: notifications are rare. */
const quietTime = 10_000;

/** The one connection that listens, beside the pool; made when first needed, and again when it is lost. */
export class ListenConnection implements ConnectionOwner {
  connection: PgConnection | null = null;
  readonly #context: EngineContext;
  readonly #open: (owner: ConnectionOwner) => Promise<PgConnection>;
  readonly #channels = new Set<string>();
  #opening: Promise<PgConnection> | null = null;
  #failures = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(context: EngineContext, open: (owner: ConnectionOwner) => Promise<PgConnection>) {
    this.#context = context;
    this.#open = open;
  }

  async listen(channel: string): Promise<void> {
    const connection = await this.#connect();
    await run(connection, `listen ${quoteIdentifier(channel)}`);
    this.#channels.add(channel);
  }

  async unlisten(channel: string): Promise<void> {
    this.#channels.delete(channel);
    if (this.connection?.usable) await run(this.connection, `unlisten ${quoteIdentifier(channel)}`).catch(() => {});
  }

  keepAwake(): void {
    const connection = this.connection;
    if (connection === null || connection.load > 0 || performance.now() - connection.busySince < quietTime) return;
    run(connection, "select 1").catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const connection = this.connection ?? (await this.#opening?.catch(() => null)) ?? null;
    connection?.destroy(new Error("the database has been closed"));
  }

  onProgress(): void {}

  onRetry(execution: Execution): void {
    execution.fail(new Error("a statement for listening cannot be repeated"));
  }

  onGone(connection: Connection): void {
    if (this.connection !== connection) return;
    this.connection = null;
    if (this.#closed || this.#channels.size === 0) return;
    this.#context.logger?.warn("the connection that listens for notifications was lost; some may have been missed");
    this.#reconnectLater();
  }

  #connect(): Promise<PgConnection> {
    if (this.connection?.usable) return Promise.resolve(this.connection);
    return (this.#opening ??= this.#establish().finally(() => (this.#opening = null)));
  }

  async #establish(): Promise<PgConnection> {
    const connection = await this.#open(this);
    connection.client.on("notification", ({ channel, payload }) =>
      this.#context.notify({ channel, payload: payload ?? "" }),
    );
    for (const channel of this.#channels) await run(connection, `listen ${quoteIdentifier(channel)}`);
    this.#failures = 0;
    return (this.connection = connection);
  }

  #reconnectLater(): void {
    this.#timer = setTimeout(
      () => {
        this.#connect().catch(() => {
          this.#failures++;
          if (!this.#closed) this.#reconnectLater();
        });
      },
      backoff(this.#failures, 100, 2000),
    );
  }
}

async function run(connection: PgConnection, text: string): Promise<void> {
  const execution = new Execution(internalStatement(text), [], "execute", false);
  connection.send(execution);
  await execution.promise;
}
