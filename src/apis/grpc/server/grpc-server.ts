import http2, { type Http2Server, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { Request } from "../../../http/request.js";
import type { Response } from "../../../http/response.js";
import type { Logger } from "../../../internal/logger.js";
import { clientLeft } from "../../../server/client-left.js";
import type { TlsKeeper } from "../../../server/tls/keeper.js";
import { listenError, StartError } from "../../../server/start-error.js";
import type { ListenAddress } from "../../../server/transport.js";
import { showAddress } from "../address.js";
import type { GrpcConfig } from "../config.js";
import { formatOf, readWire, type Wire } from "../wire/wire.js";
import { Exchange } from "./exchange.js";
import { Http2Source } from "./http2-source.js";
import { PushedFrames } from "./incoming.js";
import { NativeCall } from "./native-call.js";
import { outcomeOfError } from "./outcome.js";
import type { ServedMethods } from "./served-method.js";
import { SessionWatch } from "./session-watch.js";

export interface GrpcServerParts {
  readonly config: GrpcConfig;
  readonly methods: ServedMethods;
  readonly logger: Logger;
  readonly mask: boolean;
  readonly keeper: TlsKeeper | null;
  /** Serves the other protocols on the same port. */
  readonly serveWeb: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]) => void;
}

/** Bytes that a client may send ahead: of one call, and of all calls of a connection. */
const streamWindow = 262_144;
const connectionWindow = 1_048_576;
/** Megabytes that node:http2 keeps for one connection: headers, and responses that wait for the client. */
const sessionMemory = 64;

/** Listens for gRPC on HTTP/2, on node:http2. */
export class GrpcServer {
  readonly #parts: GrpcServerParts;
  readonly #server: Http2Server;
  readonly #sessions = new Map<ServerHttp2Session, SessionWatch>();
  #draining = false;

  constructor(parts: GrpcServerParts) {
    this.#parts = parts;
    const { config, keeper } = parts;
    const options: http2.ServerOptions = {
      maxSessionMemory: sessionMemory,
      settings: {
        maxConcurrentStreams: config.maxConcurrentStreams,
        maxHeaderListSize: config.maxMetadataSize,
        initialWindowSize: streamWindow,
        enablePush: false,
      },
    };
    if (keeper === null) this.#server = http2.createServer(options);
    else {
      const server = http2.createSecureServer({ ...keeper.options, ...options, ALPNProtocols: ["h2"] });
      keeper.attach(server);
      this.#server = server as unknown as Http2Server;
    }
    this.#server.maxConnections = config.maxConnections === 0 ? Number.POSITIVE_INFINITY : config.maxConnections;
    this.#server.on("session", (session) => this.#accept(session));
    // A client that breaks the protocol ends its own connection.
    this.#server.on("sessionError", () => {});
    this.#server.on("stream", (stream, headers, _flags, raw) => {
      this.#handle(stream, headers, raw as unknown as string[]);
    });
  }

  /** Resolves to the address, with the real port. */
  async listen(address: ListenAddress): Promise<ListenAddress> {
    try {
      return await this.#bind(address);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A machine without IPv6 has no `::`.
      if (address.host === "::" && (code === "EAFNOSUPPORT" || code === "EADDRNOTAVAIL")) {
        return this.listen({ ...address, host: "0.0.0.0" });
      }
      if (code === "EADDRINUSE") {
        const where = showAddress(address);
        throw new StartError(`the address ${where} of enableGrpc() is already in use; choose another`, { cause: error });
      }
      throw listenError(error, address);
    }
  }

  /** Accepts nothing more, tells clients to go elsewhere, and waits for the calls in flight. */
  async drain(milliseconds: number): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions.keys()) session.close();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
    await Promise.race([closed, late]);
    clearTimeout(timer);
    this.destroy();
  }

  destroy(): void {
    this.#server.close();
    for (const session of this.#sessions.keys()) session.destroy();
  }

  #bind(address: ListenAddress): Promise<ListenAddress> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host: address.host, port: address.port }, () => {
        this.#server.off("error", reject);
        // Errors of a listener that serves: too many open files. It goes on with the next connection.
        this.#server.on("error", (error) => this.#parts.logger.warn("the gRPC server cannot accept a connection", { error }));
        const { address: host, port } = this.#server.address() as AddressInfo;
        resolve({ host, port });
      });
    });
  }

  #accept(session: ServerHttp2Session): void {
    // Listed before anything can fail.
    const watch = new SessionWatch(session, this.#parts.config);
    this.#sessions.set(session, watch);
    session.on("error", () => {});
    session.once("close", () => {
      this.#sessions.delete(session);
      watch.end();
    });
    session.setLocalWindowSize(connectionWindow);
    if (this.#draining) session.close();
  }

  #handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    stream.on("error", () => {});
    const { session } = stream;
    const watch = session && this.#sessions.get(session);
    if (!watch?.admit(stream)) return;
    const format = formatOf(headers["content-type"]);
    if (format?.protocol !== "grpc") {
      this.#parts.serveWeb(stream, headers, raw);
      return;
    }
    if (headers[":method"] !== "POST") {
      stream.respond({ ":status": 405, allow: "POST" }, { endStream: true });
      return;
    }
    this.#call(stream, new Http2Source(stream, headers, raw), watch);
  }

  #call(stream: ServerHttp2Stream, source: Http2Source, watch: SessionWatch): void {
    const { methods, mask } = this.#parts;
    const { method, pipeline } = methods.byPath.get(source.path) ?? methods.unknown;
    const request = new Request(source);
    let wire: Wire;
    try {
      wire = readWire(source, true);
    } catch (error) {
      new NativeCall(stream, request, null, mask).refuse(outcomeOfError(error, mask), ["grpc-accept-encoding", "identity,gzip,deflate"]);
      return;
    }
    const incoming = new PushedFrames(stream, method.maxMessageSize);
    const exchange = new Exchange(request, method, wire, incoming);
    source.exchange = exchange;
    watch.begin(request);
    stream.once("close", () => {
      // Without effect on a call that has ended.
      if (!stream.writableFinished) request.abort(clientLeft());
      exchange.end();
      request.finish();
    });
    const call = new NativeCall(stream, request, exchange, mask);
    const response = pipeline.dispatch(request);
    if (response instanceof Promise) response.then((made) => call.send(made));
    else call.send(response as Response);
  }
}
