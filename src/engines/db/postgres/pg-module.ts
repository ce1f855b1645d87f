import type { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { missingPackage } from "../../../kit/optional-package.js";
import type { ServerError } from "../translate-error.js";
import { assertUsable, installedVersion, pgRange } from "./pg-version.js";

/**
 * The part of node-postgres that is used. The handlers of a query are the interface by which it takes query classes such
 * as pg-cursor; the rest is not in its published types. `pg-version.ts` checks that the installed version has it.
 */
export interface PgModule {
  readonly Client: new (config: PgClientConfig) => PgClient;
  readonly Query: new (text: string) => PgQuery;
}

export interface PgClientConfig {
  /** In place of a socket that it opens. */
  readonly stream?: Socket | undefined;
  readonly host: string;
  readonly port: number;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: string | undefined;
  readonly ssl: ConnectionOptions | false;
  readonly application_name: string;
  readonly keepAlive: boolean;
  readonly keepAliveInitialDelayMillis: number;
  readonly pipeline: boolean;
  /** SCRAM-SHA-256-PLUS where the server offers it. */
  readonly enableChannelBinding: boolean;
}

export interface PgClient {
  readonly connection: PgConnectionHandle;
  readonly processID: number;
  readonly secretKey: number;
  connect(): Promise<unknown>;
  query(query: PgQuery): void;
  end(): Promise<void>;
  getStartupConf(): Record<string, string>;
  getTransactionStatus(): string | null;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "end", listener: () => void): void;
  on(event: "notification", listener: (message: { channel: string; payload?: string }) => void): void;
}

export interface PgConnectionHandle {
  readonly stream: Socket;
  attachListeners(stream: Socket): void;
  on(event: "authenticationSASL", listener: (message: { mechanisms: readonly string[] }) => void): void;
  on(
    event:
      | "authenticationCleartextPassword"
      | "authenticationMD5Password"
      | "authenticationSASLFinal"
      | "authenticationOk",
    listener: () => void,
  ): void;
  on(event: "parameterDescription", listener: (message: { dataTypeIDs: number[] }) => void): void;
  query(text: string): void;
  parse(message: { text: string; name: string }): void;
  describe(message: { type: "S"; name: string }): void;
  bind(message: { statement: string; values: readonly (string | Buffer | null)[] }): void;
  execute(message: object): void;
  close(message: { type: "S"; name: string }): void;
  sync(): void;
  sendCopyFail(message: string): void;
}

export interface PgQuery {
  submit(connection: PgConnectionHandle): Error | null;
  handleRowDescription(message: { fields: { name: string; dataTypeID: number }[] }): void;
  handleDataRow(message: { fields: (string | null)[] }): void;
  handleCommandComplete(message: { text: string }): void;
  handleEmptyQuery(): void;
  handlePortalSuspended(): void;
  handleCopyInResponse(connection: PgConnectionHandle): void;
  handleCopyData(): void;
  handleError(error: ServerError | Error): void;
  handleReadyForQuery(): void;
}

export async function loadPg(): Promise<PgModule> {
  const module = await import("pg").catch((cause: unknown) => {
    throw missingPackage("pg", "PostgreSQL", cause, `@${pgRange}`);
  });
  const pg = module.default as unknown as PgModule;
  assertUsable(pg, installedVersion());
  return pg;
}
