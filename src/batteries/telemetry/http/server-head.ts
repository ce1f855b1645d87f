import type { RpcRoute } from "../../../kit/tracer.js";
import { writeAttribute } from "../otlp/attributes.js";
import { Writer } from "../otlp/writer.js";

/** The methods that the conventions for HTTP know. Others come from clients and have no bound. */
const known = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);
const noLimit = Number.POSITIVE_INFINITY;
const serverKind = 2;

/** The part of a server span that depends on the route and the method alone: name, kind, attributes; as bytes. */
export interface ServerHead {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly known: boolean;
}

/** The heads of one route, each made once. `pattern` is null for requests without a route. */
export class ServerHeads {
  readonly #heads = new Map<string, ServerHead>();

  constructor(
    private readonly pattern: string | null,
    private readonly rpc: RpcRoute | null,
  ) {}

  of(method: string, scheme: string): ServerHead {
    const name = known.has(method) ? method : "_OTHER";
    const key = scheme === "https" ? `s${name}` : name;
    let head = this.#heads.get(key);
    if (head === undefined) this.#heads.set(key, (head = this.#make(name, scheme)));
    return head;
  }

  #make(method: string, scheme: string): ServerHead {
    const shown = method === "_OTHER" ? "HTTP" : method;
    const rpc = this.rpc;
    const route = this.pattern === null ? shown : `${shown} ${this.pattern}`;
    const name = rpc === null ? route : `${rpc.service}/${rpc.method}`;
    const writer = new Writer(512);
    writer.tag(0x2a).string(name);
    writer.tag(0x30).byte(serverKind);
    writeAttribute(writer, 0x4a, "http.request.method", method, noLimit);
    writeAttribute(writer, 0x4a, "url.scheme", scheme, noLimit);
    if (this.pattern !== null) writeAttribute(writer, 0x4a, "http.route", this.pattern, noLimit);
    if (rpc !== null) {
      writeAttribute(writer, 0x4a, "rpc.system", rpc.system, noLimit);
      writeAttribute(writer, 0x4a, "rpc.service", rpc.service, noLimit);
      writeAttribute(writer, 0x4a, "rpc.method", rpc.method, noLimit);
    }
    return { name, bytes: Uint8Array.from(writer.written), known: method !== "_OTHER" };
  }
}

export function conventionalMethod(method: string): string {
  return known.has(method) ? method : "_OTHER";
}
