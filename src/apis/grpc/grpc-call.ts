import type { Request } from "../../http/request.js";
import type { MethodKind } from "./descriptors.js";
import { Metadata, readMetadata } from "./metadata.js";

/** The protocols that reach a handler. */
export type GrpcProtocol = "grpc" | "grpc-web" | "connect";

/** The parts of a method that a call shows. */
export interface CalledMethod {
  readonly service: string;
  readonly name: string;
  readonly kind: MethodKind;
}

/** One call, as its handler sees it. */
export class GrpcCall {
  /** The request behind the call: `signal`, `context`, `log`, `ip`, `id`, the database and the rest. */
  readonly request: Request;
  /** The full name of the service. */
  readonly service: string;
  /** The name of the method. */
  readonly method: string;
  readonly kind: MethodKind;
  readonly protocol: GrpcProtocol;
  /** The time at which the client stops to wait; null if it sent no deadline. */
  readonly deadline: Date | null;
  #metadata: Metadata | null = null;
  #headers: Metadata | null = null;
  #trailers: Metadata | null = null;
  #sendHeaders: (() => void) | null = null;

  /** @internal */
  constructor(request: Request, { service, name, kind }: CalledMethod, protocol: GrpcProtocol, deadline: Date | null) {
    this.request = request;
    this.service = service;
    this.method = name;
    this.kind = kind;
    this.protocol = protocol;
    this.deadline = deadline;
  }

  /** Aborted when the client cancels or disconnects, and when the deadline has passed. */
  get signal(): AbortSignal {
    return this.request.signal;
  }

  /** The metadata that the client sent. */
  get metadata(): Metadata {
    return (this.#metadata ??= readMetadata(this.request.source.headerLines()));
  }

  /** Metadata for the client, sent before the first message. */
  get headers(): Metadata {
    return (this.#headers ??= new Metadata());
  }

  /** Metadata for the client, sent after the last message. */
  get trailers(): Metadata {
    return (this.#trailers ??= new Metadata());
  }

  /** Sends the headers of a streaming response now, in place of with the first message. */
  sendHeaders(): void {
    this.#sendHeaders?.();
  }

  /** @internal Null if the handler has set none. */
  get ownHeaders(): Metadata | null {
    return this.#headers;
  }

  /** @internal */
  get ownTrailers(): Metadata | null {
    return this.#trailers;
  }

  /** @internal */
  onSendHeaders(callback: () => void): void {
    this.#sendHeaders = callback;
  }
}
