/** Test helpers: requests, WebSockets and the lifecycle of an application, without a port or with one. */
import type { App } from "../app/app.js";
import { TestClient, type TestClientOptions } from "./test-client.js";

export type { CookieJar } from "./cookie-jar.js";
export { duplexPair } from "./duplex-pair.js";
export { Factory, type FactoryModel, type FactoryValues, factory } from "./factory.js";
export type { TestRequestInit } from "./request.js";
export { rollbackEach, rolledBack, type TestDatabaseSource, type TestHooks } from "./rollback.js";
export { serve, type TestServer, type TestServerOptions } from "./serve.js";
export type { TestSettings } from "./test-app.js";
export { TestClient, type TestClientOptions, type TestSocketInit } from "./test-client.js";
export { type DeliveredResult, type PublishedMessage, TestMessages, testMessages } from "./test-messages.js";
export { TestSocket, WebSocketRefusedError } from "./test-socket.js";

/** An application under test. */
export type TestApp = App;

/** A client that speaks to an application without a port. */
export function testClient(app: App, options?: TestClientOptions): TestClient {
  return new TestClient(app, options);
}
