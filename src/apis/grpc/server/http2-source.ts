import type { IncomingHttpHeaders } from "node:http2";
import type { ClientCertificate } from "../../../http/peer/client-certificate.js";
import type { RequestSource } from "../../../http/source.js";
import type { Http2StreamPeer } from "../../../server/http2/streams.js";
import type { Exchange } from "./exchange.js";

/** A stream of HTTP/2 as the source of a request. The messages in it belong to the call. */
export class Http2Source implements RequestSource {
  readonly method = "POST";
  readonly path: string;
  readonly search: string;
  readonly wantsWebSocket = false;
  readonly body = null;
  readonly #headers: IncomingHttpHeaders;
  readonly #peer: Http2StreamPeer;
  /** The call of the request. */
  exchange: Exchange | null = null;

  constructor(headers: IncomingHttpHeaders, peer: Http2StreamPeer) {
    const target = headers[":path"] ?? "/";
    const query = target.indexOf("?");
    this.path = query === -1 ? target : target.slice(0, query);
    this.search = query === -1 ? "" : target.slice(query);
    this.#headers = headers;
    this.#peer = peer;
  }

  get remoteAddress(): string {
    return this.#peer.remoteAddress;
  }

  get secure(): boolean {
    return this.#peer.secure;
  }

  get clientCertificate(): ClientCertificate | null {
    return this.#peer.clientCertificate;
  }

  header(name: string): string | undefined {
    const value = name === "host" ? (this.#headers[":authority"] ?? this.#headers.host) : this.#headers[name];
    return typeof value === "object" ? value.join(", ") : value;
  }

  headerLines(): readonly string[] {
    const lines: string[] = [];
    const raw = this.#peer.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i]!;
      if (name === ":authority") lines.push("host", raw[i + 1]!);
      else if (!name.startsWith(":") && !(name === "host" && this.#headers[":authority"]))
        lines.push(name, raw[i + 1]!);
    }
    return lines;
  }
}
