/** `npm run site`: builds the documentation as static files into site/dist, with a reference made from the types. `npm run site -- dev` serves it while it is written. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { root, runNode } from "./process.mjs";
import { writeReference } from "./reference.mjs";
import { ensureBuilt, ensureInstalled } from "./setup.mjs";

const folder = join(root, "site");
await ensureInstalled(folder);
await ensureBuilt({ types: true });
const reference = join(root, "docs/reference");
writeReference(reference);
const command = process.argv[2] ?? "build";
const vitepress = join(folder, "node_modules/vitepress/bin/vitepress.js");
process.exitCode = (await runNode(vitepress, [command, folder], { inherit: true })).code;
rmSync(reference, { recursive: true });
