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
  readonly httpVersion: "1.0" | "1.1";
  body: IncomingBody | null = null;
  readonly #peer: Peer;
  readonly #bytes: Buffer | string;
  readonly #searchStart: number;
  readonly #searchEnd: number;
  readonly #fieldsStart: number;
  readonly #end: number;
  #fields: FieldIndex | null = null;

  /** `bytes` up to `end` are the head that was parsed. Of `lent` bytes the text is taken at once. */
  constructor(peer: Peer, head: HeadParser, bytes: Buffer, end: number, lent: boolean) {
    this.#peer = peer;
    this.method = head.method;
    this.path = head.path;
    this.wantsWebSocket = head.wantsWebSocket;
    this.httpVersion = head.old ? "1.0" : "1.1";
    // Without a search it is somewhere in the head, or nowhere.
    const start = !lent ? 0 : head.searchEnd > head.searchStart ? head.searchStart : head.fieldsStart;
    this.#bytes = lent ? bytes.toString("latin1", start, end) : bytes;
    this.#searchStart = head.searchStart - start;
    this.#searchEnd = head.searchEnd - start;
    this.#fieldsStart = head.fieldsStart - start;
    this.#end = end - start;
  }

  get search(): string {
    return this.#searchEnd === this.#searchStart ? "" : this.#text(this.#searchStart, this.#searchEnd);
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
    return (this.#fields ??= new FieldIndex(this.#text(this.#fieldsStart, this.#end)));
  }

  #text(start: number, end: number): string {
    const bytes = this.#bytes;
    return typeof bytes === "string" ? bytes.slice(start, end) : bytes.toString("latin1", start, end);
  }
}
