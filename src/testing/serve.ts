import { type App, hostOf } from "../app/app.js";
import type { OptionsOf } from "../kit/config.js";
import { chooseTransport } from "../server/choose-transport.js";
import { type limitFields, serverLimits } from "../server/limits.js";
import type { RunningServer } from "../server/running-server.js";
import { loadTransport } from "../server/serve.js";
import { configure, type TestSettings } from "./test-app.js";

export interface TestServerOptions extends TestSettings, OptionsOf<typeof limitFields> {
  /** As in `run`. Default "auto". */
  readonly transport?: "auto" | "native" | "net" | "node";
}

/** An application that listens on its own port. */
export interface TestServer extends RunningServer, AsyncDisposable {}

/** Starts an application on a free port of 127.0.0.1, for tests over the wire. Signals are left alone. */
export async function serve(app: App, options: TestServerOptions = {}): Promise<TestServer> {
  const { debug, requestTimeout, rateLimits, transport: wanted = "auto", ...limits } = options;
  configure(app, {
    ...(debug !== undefined && { debug }),
    ...(requestTimeout !== undefined && { requestTimeout }),
    ...(rateLimits !== undefined && { rateLimits }),
  });
  await app.start();
  const createTransport = await loadTransport(chooseTransport({ transport: wanted, tls: null, http2: null }));
  const transport = createTransport(hostOf(app).dispatch, {
    ...serverLimits.read([limits]),
    tls: null,
    onError: (error) => app.logger.error("the server failed", { error }),
  });
  const address = await transport.listen({ host: "127.0.0.1", port: 0 });
  const end = async (): Promise<void> => {
    hostOf(app).beginDrain();
    await transport.drain();
    await app.stop();
    transport.destroy();
  };
  let ending: Promise<void> | undefined;
  const close = (): Promise<void> => (ending ??= end());
  return { address, url: `http://127.0.0.1:${address.port}`, close, [Symbol.asyncDispose]: close };
}
