/** `npm run site`: builds the documentation as static files into site/dist. `npm run site -- dev` serves it while it is written. */
import { join } from "node:path";
import { root, runNode } from "./process.mjs";
import { ensureInstalled } from "./setup.mjs";

const folder = join(root, "site");
await ensureInstalled(folder);
const command = process.argv[2] ?? "build";
const vitepress = join(folder, "node_modules/vitepress/bin/vitepress.js");
process.exitCode = (await runNode(vitepress, [command, folder], { inherit: true })).code;
