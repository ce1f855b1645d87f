import { fieldOf } from "../../http/fields/field-of.js";
import { type ClientCertificate, clientCertificateOf } from "../../http/peer/client-certificate.js";
import type { IncomingBody, RequestSource } from "../../http/source.js";
import type { Peer } from "../http1/source.js";

/** The parts of a request that its pseudo-header fields name. */
export interface Http2Target {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly authority: string;
  /** The client requests a WebSocket. Such a request has the method that it has in HTTP/1.1. */
  readonly wantsWebSocket: boolean;
}

/** A request of HTTP/2. Its fields read as those of HTTP/1.1 do: `:authority` is the Host field. */
export class Http2RequestSource implements RequestSource {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly body: IncomingBody | null;
  readonly wantsWebSocket: boolean;
  readonly httpVersion = "2";
  readonly #peer: Peer;
  readonly #authority: string;
  readonly #raw: readonly string[];
  #lines: string[] | null = null;

  /** `raw`: names and values in turn, with the pseudo-header fields. */
  constructor(peer: Peer, head: Http2Target, raw: readonly string[], body: IncomingBody | null) {
    const { target } = head;
    this.method = head.method;
    const mark = target.indexOf("?");
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.search = mark === -1 ? "" : target.slice(mark);
    this.body = body;
    this.wantsWebSocket = head.wantsWebSocket;
    this.#peer = peer;
    this.#authority = head.authority;
    this.#raw = raw;
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
    return name === "host" ? this.#authority : fieldOf(this.#raw, name);
  }

  headerLines(): readonly string[] {
    if (this.#lines !== null) return this.#lines;
    const lines = ["host", this.#authority];
    const raw = this.#raw;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i]!;
      if (name.charCodeAt(0) !== 0x3a && name !== "host") lines.push(name, raw[i + 1]!);
    }
    return (this.#lines = lines);
  }
}
