/**
 * Type-checks a consumer of the built package with the newest types of each Node.js release, skipLibCheck off:
 *
 *     node scripts/judges/node-types.mjs [folder]
 *
 * The folder keeps what npm installs, for the next time.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bin, root } from "../process.mjs";
import { ensureBuilt } from "../setup.mjs";

const releases = [20, 22, 24, 26];
await ensureBuilt();
const folder = resolve(process.argv[2] ?? mkdtempSync(join(tmpdir(), "stoa-types-")));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.keys(manifest.exports).filter((path) => path !== "./package.json");

let failed = 0;
for (const release of releases) {
  const place = join(folder, `node-${release}`);
  mkdirSync(join(place, "node_modules"), { recursive: true });
  writeFileSync(join(place, "package.json"), '{ "private": true, "type": "module" }');
  npm(place, "install", "--no-audit", "--no-fund", "--no-save", "--silent", `@types/node@${release}`);
  for (const name of ["package.json", "dist"]) {
    rmSync(join(place, "node_modules/stoa", name), { recursive: true, force: true });
    cpSync(join(root, name), join(place, "node_modules/stoa", name), { recursive: true });
  }
  writeFileSync(join(place, "app.ts"), consumer());
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions: settings(), files: ["app.ts"] }));
  const { version } = JSON.parse(readFileSync(join(place, "node_modules/@types/node/package.json"), "utf8"));
  const complaint = run(process.execPath, [bin.tsc, "-p", "."], place);
  console.log(`${complaint === "" ? "ok    " : "FAILED"}  @types/node ${version}`);
  if (complaint !== "") console.log(complaint);
  if (complaint !== "") failed++;
}
process.exitCode = failed > 0 ? 1 : 0;

function settings() {
  return { target: "ES2022", module: "NodeNext", strict: true, noEmit: true, types: ["node"], skipLibCheck: false };
}

/** Imports every entry and uses the main one as the guides do. */
function consumer() {
  const imports = entries.map((path, index) => `import * as m${index} from "${path.replace(/^\./, manifest.name)}";`);
  return `${imports.join("\n")}
import { App } from "stoa";
const app = new App();
app.enableCors({ maxAge: 1 }).get("/books/{id}", (request) => request.params.id);
export default [${entries.map((_, index) => `m${index}`).join(", ")}];
`;
}

function npm(cwd, ...args) {
  execFileSync("npm", args, { cwd, stdio: "inherit" });
}

function run(file, args, cwd) {
  try {
    execFileSync(file, args, { cwd, encoding: "utf8" });
    return "";
  } catch (error) {
    return `${error.stdout}${error.stderr}`;
  }
}
