import type { IncomingBody, RequestSource } from "../../http/source.js";
import { FieldIndex } from "./fields.js";

/** The connection as far as a request needs to know it. */
export interface Peer {
  readonly remoteAddress: string;
  readonly secure: boolean;
}

/** A request as it lies in the bytes received. The fields are decoded when the first one is asked for. */
export class NetRequestSource implements RequestSource {
  readonly method: string;
  readonly target: string;
  readonly wantsWebSocket: boolean;
  body: IncomingBody | null = null;
  readonly #peer: Peer;
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  #fields: FieldIndex | null = null;

  constructor(
    peer: Peer,
    method: string,
    target: string,
    wantsWebSocket: boolean,
    bytes: Buffer,
    start: number,
    end: number,
  ) {
    this.#peer = peer;
    this.method = method;
    this.target = target;
    this.wantsWebSocket = wantsWebSocket;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  get remoteAddress(): string {
    return this.#peer.remoteAddress;
  }

  get secure(): boolean {
    return this.#peer.secure;
  }

  header(name: string): string | undefined {
    return this.#index().get(name);
  }

  headerLines(): readonly string[] {
    return this.#index().lines();
  }

  #index(): FieldIndex {
    return (this.#fields ??= new FieldIndex(this.#bytes.toString("latin1", this.#start, this.#end)));
  }
}
