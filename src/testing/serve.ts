import { type App, hostOf } from "../app/app.js";
import { type OptionsOf, option, options } from "../kit/config.js";
import type { EitherSpelling } from "../kit/names.js";
import { is } from "../kit/options.js";
import { chooseTransport } from "../server/choose-transport.js";
import { limitFields } from "../server/limits.js";
import type { RunningServer } from "../server/running-server.js";
import { loadTransport } from "../server/serve.js";
import { configure, testFields } from "./test-app.js";

const ownFields = {
  /** As in `run`. Default "auto". */
  transport: option(is.oneOf("auto", "native", "net", "node"), "auto"),
};

// Without the names of these types the published declarations would lose the comments of other files.
const fields: typeof testFields & typeof limitFields & typeof ownFields = {
  ...testFields,
  ...limitFields,
  ...ownFields,
};

const serveOptions = options("serve()", fields);

export interface TestServerOptions extends OptionsOf<typeof fields> {}

/** An application that listens on its own port. */
export interface TestServer extends RunningServer, AsyncDisposable {}

/** Starts an application on a free port of 127.0.0.1, for tests over the wire. Signals are left alone. */
export async function serve(app: App, options?: EitherSpelling<TestServerOptions> | null): Promise<TestServer> {
  const { debug, requestTimeout, rateLimits, transport: wanted, ...limits } = serveOptions.read([options]);
  // What can be refused comes first: nothing would stop an application that has started.
  const chosen = chooseTransport({ transport: wanted, tls: null, http2: null });
  configure(app, { debug, requestTimeout, rateLimits });
  await app.start();
  const createTransport = await loadTransport(chosen);
  const transport = createTransport(hostOf(app).dispatch, {
    ...limits,
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
