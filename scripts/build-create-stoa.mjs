/** Builds the package `create-stoa`, before it is packed: the command `stoa new` in one file, and the templates. */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./process.mjs";

const folder = join(root, "packages/create-stoa");
for (const part of ["dist", "templates"]) rmSync(join(folder, part), { recursive: true, force: true });
const build = await rolldown({ cwd: root, platform: "node", input: "src/cli/create-stoa.ts" });
await build.write({ dir: join(folder, "dist"), format: "esm", codeSplitting: false, comments: false });
await build.close();
cpSync(join(root, "templates"), join(folder, "templates"), { recursive: true });
cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
