import { type ClientCertificate, clientCertificateOf } from "../../http/peer/client-certificate.js";
import type { IncomingBody, RequestSource } from "../../http/source.js";
import { FieldIndex } from "./fields.js";
import type { HeadParser } from "./head.js";

/** The connection as far as a request needs to know it. */
export interface Peer {
  readonly remoteAddress: string;
  readonly secure: boolean;
  readonly socket: object;
}

/** A request as it lies in the bytes received. The fields are decoded when the first one is asked for. */
export class NetRequestSource implements RequestSource {
  readonly method: string;
  readonly path: string;
  readonly wantsWebSocket: boolean;
  body: IncomingBody | null = null;
  readonly #peer: Peer;
  readonly #bytes: Buffer;
  readonly #searchStart: number;
  readonly #searchEnd: number;
  readonly #fieldsStart: number;
  readonly #end: number;
  #fields: FieldIndex | null = null;

  /** `bytes` up to `end` are the head that was parsed. */
  constructor(peer: Peer, head: HeadParser, bytes: Buffer, end: number) {
    this.#peer = peer;
    this.method = head.method;
    this.path = head.path;
    this.wantsWebSocket = head.wantsWebSocket;
    this.#bytes = bytes;
    this.#searchStart = head.searchStart;
    this.#searchEnd = head.searchEnd;
    this.#fieldsStart = head.fieldsStart;
    this.#end = end;
  }

  get search(): string {
    return this.#searchEnd === this.#searchStart
      ? ""
      : this.#bytes.toString("latin1", this.#searchStart, this.#searchEnd);
  }

  get remoteAddress(): string {
    return this.#peer.remoteAddress;
  }

  get secure(): boolean {
    return this.#peer.secure;
  }

  get clientCertificate(): ClientCertificate | null {
    return clientCertificateOf(this.#peer.socket);
  }

  header(name: string): string | undefined {
    return this.#index().get(name);
  }

  headerLines(): readonly string[] {
    return this.#index().lines();
  }

  #index(): FieldIndex {
    return (this.#fields ??= new FieldIndex(this.#bytes.toString("latin1", this.#fieldsStart, this.#end)));
  }
}
