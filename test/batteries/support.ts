import type { App } from "stoa";
import { serve, type TestServer } from "../../src/testing/serve.js";
import { send, type WireRequest, type WireResponse } from "./wire.js";

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

/** An application on a port of its own, and requests to it over the wire. */
export interface Wire extends AsyncDisposable {
  readonly url: string;
  readonly server: TestServer;
  send(path: string, init?: WireRequest): Promise<WireResponse>;
}

export async function wire(app: App): Promise<Wire> {
  app.logger = silent;
  const server = await serve(app, { debug: false });
  return {
    url: server.url,
    server,
    send: (path, init) => send(server.url, path, init),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
