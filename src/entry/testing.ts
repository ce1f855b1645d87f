/** Test helpers: requests, WebSockets and the lifecycle of an application, without a port or with one. */
import type { App } from "../app/app.js";
import { TestClient, type TestClientOptions } from "../testing/test-client.js";

export type { CookieJar } from "../testing/cookie-jar.js";
export { duplexPair } from "../testing/duplex-pair.js";
export { Factory, type FactoryModel, type FactoryValues, factory } from "../testing/factory.js";
export type { TestRequestInit } from "../testing/request.js";
export { rollbackEach, rolledBack, type TestDatabaseSource, type TestHooks } from "../testing/rollback.js";
export { serve, type TestServer, type TestServerOptions } from "../testing/serve.js";
export type { TestSettings } from "../testing/test-app.js";
export { TestClient, type TestClientOptions, type TestSocketInit } from "../testing/test-client.js";
export { type DeliveredResult, type PublishedMessage, TestMessages, testMessages } from "../testing/test-messages.js";
export { TestSocket, WebSocketRefusedError } from "../testing/test-socket.js";
export { type RunDueOptions, TestWork, testWork } from "../testing/test-work.js";

/** An application under test. */
export type TestApp = App;

/** A client that speaks to an application without a port. */
export function testClient(app: App, options?: TestClientOptions): TestClient {
  return new TestClient(app, options);
}
