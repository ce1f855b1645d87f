/**
 * The declarations of the `ws` package that are used here. Its types do not become part of the framework's types. The
 * package is loaded when the first client connects: loading takes a quarter of the start time.
 */
import type { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";

export interface RawSocket {
  readonly readyState: number;
  readonly protocol: string;
  /** The extensions agreed upon; empty when none were. */
  readonly extensions: string;
  readonly bufferedAmount: number;
  send(data: string | Uint8Array, callback: (error?: Error | null) => void): void;
  ping(callback: (error?: Error | null) => void): void;
  pong(data: Uint8Array, callback: (error?: Error | null) => void): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
  pause(): void;
  resume(): void;
  /** Present if the socket writes its frames itself: returns true if nothing waits. Then `callback` is not called. */
  trySend?(data: string | Uint8Array, callback: (error?: Error | null) => void): boolean;
  /** Bytes that the system has taken, if that is known. */
  readonly taken?: number;
  on(event: "message", listener: (data: Buffer | string, isBinary: boolean) => void): this;
  on(event: "ping" | "pong", listener: (data: Buffer) => void): this;
  on(event: "close", listener: (code: number, reason: Buffer) => void): this;
  on(event: "error", listener: (error: Error & { code?: string }) => void): this;
}

// As `ws` numbers the states of a socket.
export const OPEN = 1;
export const CLOSING = 2;
export const CLOSED = 3;

/** The parts of an upgrade request that `ws` reads, and the fields that are added to its response. */
export interface UpgradeRequest {
  readonly method: "GET";
  readonly headers: Readonly<Record<string, string>>;
  /** Field lines for the head of the response. */
  readonly fieldLines: readonly string[];
}

export interface RawServer {
  handleUpgrade(
    request: UpgradeRequest,
    socket: Duplex,
    head: Buffer,
    callback: (socket: RawSocket, request: UpgradeRequest) => void,
  ): void;
  on(event: "headers", listener: (lines: string[], request: UpgradeRequest) => void): this;
}

/** A socket that lets its owner finish before it fails because of a bad frame. */
export interface PatientSocket extends RawSocket {
  /** Called with a function that fails the connection, when the peer has sent a bad frame. */
  beforeFailing?: (fail: () => void) => void;
}

type SocketClass = new (...args: never[]) => RawSocket;

/**
 * A class of sockets with `beforeFailing`. Only `ws` itself calls `close` while that is set: with a code alone for a bad
 * frame, and without one or with a reason for a close frame of the peer.
 */
export function patientSocketOf({ WebSocket }: WsModule): SocketClass {
  const Base = WebSocket as unknown as new (...args: unknown[]) => RawSocket;
  return class extends Base implements PatientSocket {
    beforeFailing?: (fail: () => void) => void;

    override close(code?: number, reason?: string): void {
      const { beforeFailing } = this;
      if (beforeFailing === undefined || code === undefined || reason !== undefined) super.close(code, reason);
      else beforeFailing(() => super.close(code, reason));
    }
  };
}

export interface RawServerOptions {
  /** The class of the sockets. */
  readonly WebSocket: SocketClass;
  readonly noServer: true;
  readonly clientTracking: false;
  readonly autoPong: false;
  readonly maxPayload: number;
  readonly closeTimeout: number;
  readonly perMessageDeflate: object | false;
}

/** A client of `ws`, as tests use it. */
export interface RawClient extends RawSocket, Pick<EventEmitter, "once"> {}

export interface WsModule {
  readonly WebSocketServer: new (options: RawServerOptions) => RawServer;
  readonly WebSocket: new (url: string, protocols: readonly string[], options: object) => RawClient;
}

let loading: Promise<WsModule> | null = null;

export function loadWs(): Promise<WsModule> {
  return (loading ??= import("ws") as unknown as Promise<WsModule>);
}

/** The code that `ws` closes with for one of its errors. */
export function closeCodeOf(error: string): number {
  switch (error) {
    case "WS_ERR_INVALID_UTF8":
      return 1007;
    case "WS_ERR_TOO_MANY_BUFFERED_PARTS":
      return 1008;
    case "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH":
    case "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH":
      return 1009;
    default:
      return 1002;
  }
}
