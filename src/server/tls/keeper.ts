import { randomBytes } from "node:crypto";
import { type Stats, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Server, TlsOptions } from "node:tls";
import type { Logger } from "../../kit/logger.js";
import { ticketKeysTopic, workerChannel } from "../process/worker-channel.js";
import { startFailure } from "../start-error.js";
import { type Pem, type TlsSettings, ticketKeyLife } from "./fields.js";
import { type LoadedTls, loadTls } from "./load.js";

/** Milliseconds between two looks at a file. Looking finds files behind links too, whose targets are replaced. */
const lookEvery = 2_000;

/** Keeps the certificates of a server up to date while it runs. */
export class TlsKeeper {
  readonly #fields: TlsSettings;
  readonly #logger: Logger;
  /** The files, each as it was before it was read. */
  readonly #files: Map<string, string>;
  #loaded: LoadedTls;
  #server: Server | null = null;
  #ticketKeys: Buffer | null = null;
  #pending: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #rotation: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | null = null;

  /** Throws a StartError if a certificate or key cannot be used. */
  constructor(fields: TlsSettings, logger: Logger) {
    this.#fields = fields;
    this.#logger = logger;
    this.#files = new Map(filesOf(fields).map((file) => [file, stateBefore(file)]));
    this.#loaded = loadTls(fields);
  }

  get options(): TlsOptions {
    return {
      ...this.#loaded.options,
      SNICallback: (host, callback) => callback(null, this.#loaded.contextFor(host)),
    };
  }

  /** Watches the files and replaces the keys of session tickets for this server. */
  attach(server: Server): void {
    this.#server = server;
    if (this.#fields.watch) {
      this.#looking = setInterval(() => void this.#look(), lookEvery);
      this.#looking.unref();
    }
    if (workerChannel.open) {
      // The supervisor has one key for all, so that a client can resume its session with any worker.
      this.#unsubscribe = workerChannel.subscribe(ticketKeysTopic, (data) => {
        if (typeof data === "string") this.#useTicketKeys(Buffer.from(data, "base64"));
      });
    } else {
      this.#rotation = setInterval(() => this.#useTicketKeys(randomBytes(48)), ticketKeyLife);
      this.#rotation.unref();
    }
  }

  /** Reads the files again. If they cannot be used, the server continues with what it has. */
  reload(): void {
    clearTimeout(this.#pending);
    try {
      this.#loaded = loadTls(this.#fields);
    } catch (error) {
      const reason = startFailure(error);
      this.#logger.error(`the certificates could not be read again, the old ones stay in use: ${reason}`);
      return;
    }
    this.#server?.setSecureContext(this.#loaded.options);
    if (this.#ticketKeys) this.#server?.setTicketKeys(this.#ticketKeys);
    this.#logger.info("the certificates were read again");
  }

  close(): void {
    clearTimeout(this.#pending);
    clearInterval(this.#rotation);
    this.#unsubscribe?.();
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  async #look(): Promise<void> {
    for (const [file, before] of this.#files) {
      const now = stateOf(await stat(file).catch(() => undefined));
      if (this.#looking === undefined) return;
      if (now === before) continue;
      this.#files.set(file, now);
      this.#changed();
    }
  }

  /** Waits a little, because certificate and key are not replaced at the same moment. */
  #changed(): void {
    clearTimeout(this.#pending);
    this.#pending = setTimeout(() => this.reload(), 100);
    this.#pending.unref();
  }

  #useTicketKeys(keys: Buffer): void {
    if (keys.length !== 48) return;
    this.#ticketKeys = keys;
    this.#server?.setTicketKeys(keys);
  }
}

/** A file that cannot be looked at cannot be read either, which gives a better error. */
function stateBefore(file: string): string {
  try {
    return stateOf(statSync(file));
  } catch {
    return stateOf(undefined);
  }
}

/** What differs when a file was written or replaced. */
function stateOf(stats: Stats | undefined): string {
  return stats === undefined ? "absent" : `${stats.mtimeMs} ${stats.ino} ${stats.size}`;
}

function filesOf(fields: TlsSettings): string[] {
  const pems: (Pem | undefined)[] = [fields.clientCertificates?.ca];
  for (const { cert, key, ca } of [fields, ...fields.certificates]) pems.push(cert, key, ca);
  return pems.filter((pem): pem is string => typeof pem === "string" && !pem.includes("-----BEGIN "));
}
