import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder } from "../../kit/package-folder.js";
import { ValueError } from "../../kit/value-error.js";
import { defineCommand } from "../command.js";

/** native/build.mjs, which works without the rest of the package too. */
interface Builder {
  buildNative(options: { readonly again: boolean }): Promise<string>;
}

export const buildNative = defineCommand({
  summary: "Builds the native transport with the C compiler of this machine, and prints its file.",
  options: {},
  details: `
It needs Linux, a C compiler (cc, or the one that CC names) and the headers of Node.js. The file is in the folder of the package:
build it again after an installation.

Examples:
  stoa build-native
  CC=clang stoa build-native`,
  async run({ terminal }) {
    const builder = pathToFileURL(join(packageFolder(), "native/build.mjs")).href;
    const { buildNative: build } = (await import(builder)) as Builder;
    try {
      terminal.print(await build({ again: true }));
      terminal.note("servers use it from their next start on");
    } catch (error) {
      throw new ValueError((error as Error).message);
    }
  },
});
