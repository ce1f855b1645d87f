import { createRequire } from "node:module";

interface DataHandler {
  readonly redis: { readonly options?: { readonly [contained]?: true } };
  dispatch(run: () => void): void;
  returnFatalError(error: unknown): void;
}

/** The option that marks our clients; duplicates of a client have it too. */
export const contained = "stoaContained";

let installed = false;

/**
 * Contains errors in the handling of replies to their connection. ioredis 6 throws them in a tick of their own, where
 * nobody can catch them: a reply of null to no call, which a broken server or proxy can send, would end the process. The
 * connection is given up instead. Other clients of ioredis in the process stay as they are.
 */
export function installContainment(): void {
  if (installed) return;
  installed = true;
  let prototype: DataHandler;
  try {
    const module = createRequire(import.meta.url)("ioredis/built/DataHandler.js") as {
      readonly default: { readonly prototype: DataHandler };
    };
    prototype = module.default.prototype;
  } catch {
    // Another version with other files: tests of this one would show it.
    return;
  }
  const { dispatch } = prototype;
  prototype.dispatch = function (this: DataHandler, run) {
    if (this.redis.options?.[contained] !== true) return dispatch.call(this, run);
    try {
      run();
    } catch (error) {
      this.returnFatalError(error);
    }
    return undefined;
  };
}
