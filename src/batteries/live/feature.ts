import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { LiveServer } from "./live-server.js";
import { type LivePageOptions, type LivePageSettings, livePageOptions } from "./options.js";

export interface LiveFeature {
  /**
   * Serves a page that shows the application at work, `/_stoa` by default: routes, requests, timings, errors, health.
   * In development only; does nothing in production.
   */
  enableLivePage(pathOrOptions?: string | EitherSpelling<LivePageOptions>): this;
}

interface State {
  options: LivePageSettings | null;
  /** Null before the start, and in production. */
  server: LiveServer | null;
}

const stateOf = perHost((): State => ({ options: null, server: null }));

export const livePageFeature = feature<LiveFeature>({
  name: "live page",
  setup: {
    enableLivePage(host, ...given) {
      stateOf(host).options = livePageOptions.read(given);
    },
  },
  async prepare(host) {
    const state = stateOf(host);
    if (state.options === null || host.env !== "development") return;
    const { addLivePage } = await import("./add-live-page.js");
    state.server = addLivePage(host, state.options);
  },
  open: (host) => stateOf(host).server?.start(),
  close: (host) => stateOf(host).server?.stop(),
});

/** The path of the live page and the hosts that may see it, for pages of features beside it; null if it is disabled. */
export function livePageOf(host: Host): Pick<LivePageSettings, "path" | "hosts"> | null {
  return stateOf(host).options;
}
