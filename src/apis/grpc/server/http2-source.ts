import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { IncomingBody, RequestSource } from "../../../http/source.js";
import type { Exchange } from "./exchange.js";

/** A stream of HTTP/2 as the source of a request. */
export class Http2Source implements RequestSource {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly wantsWebSocket = false;
  readonly body: IncomingBody | null;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #raw: readonly string[];
  /** The call of the request. */
  exchange: Exchange | null = null;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    body: IncomingBody | null = null,
  ) {
    this.method = headers[":method"] ?? "";
    const target = headers[":path"] ?? "/";
    const query = target.indexOf("?");
    this.path = query === -1 ? target : target.slice(0, query);
    this.search = query === -1 ? "" : target.slice(query);
    this.#stream = stream;
    this.#headers = headers;
    this.#raw = raw;
    this.body = body;
  }

  get remoteAddress(): string {
    return this.#stream.session?.socket?.remoteAddress ?? "";
  }

  get secure(): boolean {
    return (this.#stream.session?.socket as TLSSocket | undefined)?.encrypted === true;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name === "host" ? ":authority" : name] ?? (name === "host" ? this.#headers.host : undefined);
    return typeof value === "object" ? value.join(", ") : value;
  }

  headerLines(): readonly string[] {
    const lines: string[] = [];
    for (let i = 0; i < this.#raw.length; i += 2) {
      const name = this.#raw[i]!;
      if (name === ":authority") lines.push("host", this.#raw[i + 1]!);
      else if (!name.startsWith(":")) lines.push(name, this.#raw[i + 1]!);
    }
    return lines;
  }
}
