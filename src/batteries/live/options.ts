import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { isPlainPath } from "../../routing/pattern.js";

export const livePageOptions = options(
  "enableLivePage()",
  {
    /** Path of the page. Default "/_stoa". */
    path: option.made(isPlainPath, (path) => path.replace(/(?<=.)\/$/, ""), "/_stoa"),
    /** Number of requests that the page shows. Default 200. */
    requests: option(is.integer(1, 10_000), 200),
    /** Further hosts that serve the page, to all clients: names or addresses without a port. */
    hosts: option.made(is.strings, (hosts) => hosts.map((host) => host.toLowerCase()), []),
  },
  { order: ["path"] },
);

export interface LivePageOptions extends OptionsOf<typeof livePageOptions.fields> {}
export type LivePageSettings = SettingsOf<typeof livePageOptions.fields>;
