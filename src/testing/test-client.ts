import { type App, hostOf } from "../app/app.js";
import { checkedOptions, type OptionsOf, option, options, type SettingsOf } from "../kit/config.js";
import { is } from "../kit/options.js";
import { createNetTransport } from "../server/http1/transport.js";
import { defaultLimits } from "../server/limits.js";
import type { Transport } from "../server/transport.js";
import { CookieJar } from "./cookie-jar.js";
import { duplexPair } from "./duplex-pair.js";
import { buildRequest, cookieHeader, readRequestInit, resolve, type TestRequestInit } from "./request.js";
import { configure, testFields } from "./test-app.js";
import { connect, type TestSocket } from "./test-socket.js";

const clientOptions = options("TestClient", {
  ...testFields,
  /** Stores cookies and sends them again, as browsers do. Default true. */
  keepCookies: option(is.boolean, true),
  /** The origin of `request.url` and `Host`. Default "http://localhost". */
  baseUrl: option(is.text, "http://localhost"),
  /** Header fields of every request. */
  headers: option<Readonly<Record<string, string>>>(is.record),
});

export interface TestClientOptions extends OptionsOf<typeof clientOptions.fields> {}

export interface TestSocketInit {
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
}

const readSocketInit = checkedOptions<TestSocketInit>({
  headers: is.record,
  cookies: is.record,
  protocols: is.strings,
});

/** Speaks to an application without a port. Requests go through the whole pipeline, WebSockets through the server too. */
export class TestClient implements AsyncDisposable {
  /** The cookies kept between requests. */
  readonly cookies = new CookieJar();
  readonly #app: App;
  readonly #options: SettingsOf<typeof clientOptions.fields>;
  readonly #baseUrl: string;
  readonly #overrides: (() => void)[] = [];
  readonly #sockets = new Set<TestSocket>();
  #transport: Transport | null = null;

  constructor(app: App, given?: TestClientOptions) {
    const settings = clientOptions.read([given]);
    configure(app, settings);
    this.#app = app;
    this.#options = settings;
    this.#baseUrl = settings.baseUrl.replace(/\/$/, "");
  }

  /** Runs the startup hooks, which the first request would do as well, and gives the client itself. */
  async start(): Promise<this> {
    await this.#app.start();
    return this;
  }

  /** Closes the WebSockets with 1001, runs the shutdown hooks and takes the overrides away. */
  async stop(): Promise<void> {
    hostOf(this.#app).beginDrain();
    await Promise.all([...this.#sockets].map((socket) => socket.closed));
    await this.#transport?.drain();
    await this.#app.stop();
    this.#transport?.destroy();
    for (const undo of this.#overrides.splice(0)) undo();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Puts a value in place of a dependency, until what is returned is called, or the client stops. */
  override(name: string, value: unknown): () => void {
    const undo = this.#app.override(name, value);
    this.#overrides.push(undo);
    return undo;
  }

  get(path: string, init?: TestRequestInit | null): Promise<globalThis.Response> {
    return this.#send("get()", path, init, "GET");
  }

  head(path: string, init?: TestRequestInit | null): Promise<globalThis.Response> {
    return this.#send("head()", path, init, "HEAD");
  }

  post(path: string, init?: TestRequestInit | null): Promise<globalThis.Response> {
    return this.#send("post()", path, init, "POST");
  }

  put(path: string, init?: TestRequestInit | null): Promise<globalThis.Response> {
    return this.#send("put()", path, init, "PUT");
  }

  patch(path: string, init?: TestRequestInit | null): Promise<globalThis.Response> {
    return this.#send("patch()", path, init, "PATCH");
  }

  delete(path: string, init?: TestRequestInit | null): Promise<globalThis.Response> {
    return this.#send("delete()", path, init, "DELETE");
  }

  options(path: string, init?: TestRequestInit | null): Promise<globalThis.Response> {
    return this.#send("options()", path, init, "OPTIONS");
  }

  /** Sends a request. Redirects are not followed. */
  request(path: string, init?: TestRequestInit | null): Promise<globalThis.Response> {
    return this.#send("request()", path, init);
  }

  /** Opens a WebSocket; rejects with a `WebSocketRefusedError` if the response has another status than 101. */
  async websocket(path: string, given?: TestSocketInit | null): Promise<TestSocket> {
    const init = readSocketInit("websocket()", given);
    await this.#app.start();
    this.#transport ??= createNetTransport(hostOf(this.#app).dispatch, {
      ...defaultLimits,
      tls: null,
      onError: (error) => this.#app.logger.error("the server failed", { error }),
    });
    const url = resolve(this.#baseUrl.replace(/^http/, "ws"), path);
    const headers: Record<string, string> = { ...this.#options.headers, ...init.headers };
    const cookie = cookieHeader(this.#jar?.header(url.pathname) ?? "", init.cookies);
    if (cookie !== "") headers["Cookie"] = cookie;
    const [client, server] = duplexPair();
    this.#transport.accept(server);
    const socket = await connect(client, url.href, init.protocols ?? [], headers);
    this.#sockets.add(socket);
    void socket.closed.then(() => this.#sockets.delete(socket));
    this.#jar?.store(socket.headers.getSetCookie(), url.pathname);
    return socket;
  }

  async #send(call: string, path: string, given: unknown, method?: string): Promise<globalThis.Response> {
    const init = readRequestInit(call, given);
    const headers = new Headers(this.#options.headers);
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
    const whole = { ...init, headers, ...(method !== undefined && { method }) };
    const request = buildRequest(this.#baseUrl, path, whole, this.#jar);
    const response = await this.#app.fetch(request);
    this.#jar?.store(response.headers.getSetCookie(), new URL(request.url).pathname);
    return response;
  }

  get #jar(): CookieJar | null {
    return this.#options.keepCookies === false ? null : this.cookies;
  }
}
