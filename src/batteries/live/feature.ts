import { type FeatureMethods, slot } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type LivePageOptions, readLivePageOptions } from "./options.js";

export interface LiveFeature {
  /**
   * Shows what the application does while it does it, at `/_stoa` unless given: routes, requests, timings, errors,
   * health. In development only; in production this does nothing.
   */
  enableLivePage(...given: [options?: EitherSpelling<LivePageOptions>] | [path: string]): this;
}

export const liveFeature: FeatureMethods<LiveFeature> = {
  enableLivePage(...given) {
    this.assertOpen("enableLivePage()");
    const options = readLivePageOptions(given);
    const enabled = slot(this, liveFeature, () => {
      this.onPrepare(async () => {
        if (this.env !== "development") return;
        const { startLivePage } = await import("./start.js");
        await startLivePage(this, enabled.options);
      });
      return { options };
    });
    enabled.options = options;
    return this;
  },
};
