import type { Host } from "../../../feature/host.js";
import { within } from "../../../kit/time/within.js";
import { defaultHttp2 } from "../../../server/http2/fields.js";
import { type Http2StreamHandler, Http2StreamHandlers } from "../../../server/http2/streams.js";
import { defaultLimits } from "../../../server/limits.js";
import { listenError, StartError } from "../../../server/start-error.js";
import type { TlsKeeper } from "../../../server/tls/keeper.js";
import type { Dispatch, ListenAddress, Transport } from "../../../server/transport.js";
import { defaultAddress, showAddress } from "../address.js";
import type { GrpcConfig } from "../config.js";

/** Seconds that a connection may be without a call. */
const idleTimeout = 300;
/** Seconds without the client taking a byte of a response. Handlers wait for slow clients up to this limit. */
const writeTimeout = 300;
/** Mebibytes that one connection may use in the HTTP/2 library: its calls share them. */
const sessionMemory = 64;

/** The listener at the address of the gRPC server: in each worker, on the same port. */
export class Listener {
  #transport: Transport | null = null;
  #keeper: TlsKeeper | null = null;

  constructor(
    private readonly host: Host,
    private readonly config: GrpcConfig,
    private readonly handler: Http2StreamHandler,
    private readonly dispatch: Dispatch,
  ) {}

  /** Resolves to the address, with the real port. */
  async listen(): Promise<ListenAddress> {
    const config = this.config;
    const { tls } = config;
    const address = config.listen ?? defaultAddress(this.host.env, this.host.settings.host);
    const { createHttp2Transport } = await import("../../../server/http2/transport.js");
    if (tls !== undefined)
      this.#keeper = new (await import("../../../server/tls/keeper.js")).TlsKeeper(tls, this.host.logger);
    const handlers = new Http2StreamHandlers();
    handlers.add(this.handler);
    const keeper = this.#keeper;
    this.#transport = createHttp2Transport(this.dispatch, {
      ...defaultLimits,
      keepAliveTimeout: idleTimeout,
      writeTimeout,
      maxConnections: config.maxConnections,
      maxHeadSize: config.maxMetadataSize,
      tls: keeper?.options ?? null,
      onSecureServer: (server) => keeper?.attach(server),
      http2: { ...defaultHttp2, maxConcurrentStreams: config.maxConcurrentStreams, maxSessionMemory: sessionMemory },
      http2Streams: handlers,
      onError: (error) => this.host.logger.error("a response could not be completed", { error }),
    });
    return this.#bind(address);
  }

  /** Refuses new calls, lets those in flight end, and ends the rest when the time is up. */
  async drain(): Promise<void> {
    const transport = this.#transport;
    if (transport === null) return;
    await within(transport.drain(), this.config.drainTimeout * 1000);
    this.close();
  }

  close(): void {
    this.#keeper?.close();
    this.#transport?.destroy();
    this.#transport = null;
  }

  async #bind(address: ListenAddress): Promise<ListenAddress> {
    try {
      return await this.#transport!.listen(address);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A machine without IPv6 has no `::`.
      if (address.host === "::" && (code === "EAFNOSUPPORT" || code === "EADDRNOTAVAIL")) {
        return this.#bind({ ...address, host: "0.0.0.0" });
      }
      if (code !== "EADDRINUSE") throw listenError(error, address);
      throw new StartError(`the address ${showAddress(address)} of enableGrpc() is already in use`, { cause: error });
    }
  }
}
