import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { fieldOf } from "../../http/fields/field-of.js";
import { type ClientCertificate, clientCertificateOf } from "../../http/peer/client-certificate.js";
import type { IncomingBody, RequestSource } from "../../http/source.js";

/** A request that node:http has read. */
export class NodeRequestSource implements RequestSource {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly body: IncomingBody | null;
  readonly wantsWebSocket: boolean;
  readonly #message: IncomingMessage;

  constructor(message: IncomingMessage, target: string, body: IncomingBody | null, wantsWebSocket: boolean) {
    this.#message = message;
    this.method = message.method ?? "GET";
    const mark = target.indexOf("?");
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.search = mark === -1 ? "" : target.slice(mark);
    this.body = body;
    this.wantsWebSocket = wantsWebSocket;
  }

  /** An HTTP/2 server of Node's calls its version "2.0". */
  get httpVersion(): "1.0" | "1.1" | "2" {
    const { httpVersionMajor, httpVersion } = this.#message;
    return httpVersionMajor === 2 ? "2" : httpVersion === "1.0" ? "1.0" : "1.1";
  }

  get remoteAddress(): string {
    return this.#message.socket?.remoteAddress ?? "";
  }

  get secure(): boolean {
    return (this.#message.socket as TLSSocket | null)?.encrypted === true;
  }

  get clientCertificate(): ClientCertificate | null {
    return clientCertificateOf(this.#message.socket);
  }

  // Not `message.headers`: that drops repeated fields, or joins them, by the name.
  header(name: string): string | undefined {
    return fieldOf(this.#message.rawHeaders, name);
  }

  headerLines(): readonly string[] {
    return this.#message.rawHeaders;
  }
}
