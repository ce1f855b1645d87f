/** Tools for tests of an application: requests, WebSockets and the lifecycle, with or without a port. */
import type { TestApp } from "./test-app.js";
import { TestClient, type TestClientOptions } from "./test-client.js";

export type { CookieJar } from "./cookie-jar.js";
export { duplexPair } from "./duplex-pair.js";
export type { TestRequestInit } from "./request.js";
export { serve, type TestServer, type TestServerOptions } from "./serve.js";
export type { TestApp, TestSettings } from "./test-app.js";
export { TestClient, type TestClientOptions, type TestSocketInit } from "./test-client.js";
export { TestSocket, WebSocketRefusedError } from "./test-socket.js";

/** A client that speaks to an application without a port. */
export function testClient(app: TestApp, options?: TestClientOptions): TestClient {
  return new TestClient(app, options);
}
