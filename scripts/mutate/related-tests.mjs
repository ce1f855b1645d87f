/**
 * The test files that should notice a fault in a source file, in steps from the nearest to the widest. Almost every
 * test imports the whole of `stoa`, so the import graph that `vitest related` follows would choose nearly all of them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Folders of test/ that test a folder of src/ besides the one of the same name. */
const alsoIn = {
  pipeline: ["app", "routing", "conformance/core.test.ts"],
  routing: ["app", "conformance/core.test.ts"],
  app: ["feature", "routing", "batteries/cors", "batteries/rate-limit", "conformance/core.test.ts"],
  feature: ["app", "engines/engine.test.ts"],
  di: ["conformance/core.test.ts"],
  guards: ["auth/combinations.test.ts", "conformance/authentication.test.ts"],
  http: ["server/bodies.test.ts", "server/requests.test.ts", "server/responses.test.ts", "conformance/core.test.ts"],
  auth: ["guards", "conformance/authentication.test.ts"],
  validation: ["orm/body", "conformance/books.test.ts"],
  server: ["websocket/flow.test.ts", "conformance/core.test.ts"],
  batteries: ["app", "conformance/core.test.ts"],
  engines: ["orm/results.test.ts", "orm/writing.test.ts", "testing/rollback.test.ts"],
  orm: ["conformance/books.test.ts"],
  patterns: ["console"],
};

/** Reads the tests once. `path` is a source file below the root, such as `src/http/json/json.ts`. */
export function relatedTests(root) {
  const tests = readdirSync(join(root, "test"), { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/${name}`)
    .sort();
  const texts = new Map(tests.map((test) => [test, readFileSync(join(root, test), "utf8")]));
  // Tests of the built package take a minute for the build.
  const quick = tests.filter((test) => !texts.get(test).includes("scripts/setup.mjs"));
  const imports = new Map(quick.map((test) => [test, importsOf(test, texts.get(test))]));
  return (path) => steps(path, quick, imports);
}

function steps(path, tests, imports) {
  const seen = new Set();
  const room = /^src\/((?:batteries|engines)\/[^/]+|[^/]+)\//.exec(path)?.[1] ?? "";
  const name = basename(path).replace(/\.ts$/, ".test.ts");
  const below = (name) => tests.filter((test) => test === `test/${name}` || test.startsWith(`test/${name}/`));
  const folder = dirname(path).slice("src/".length);
  let nearest = folder;
  while (nearest !== room && below(nearest).length === 0) nearest = dirname(nearest);
  return [
    // The test of a file in a subfolder may stand in the folder above.
    tests.filter((test) => {
      const stands = dirname(test).slice("test/".length);
      return (basename(test) === name && isBelow(folder, stands)) || imports.get(test).has(path);
    }),
    nearest === room ? [] : below(nearest),
    // For a file in a subfolder, the tests of other subfolders are about something else.
    below(room).filter((test) => folder === room || dirname(test) === `test/${room}`),
    (alsoIn[path.split("/")[1]] ?? []).flatMap(below),
  ]
    .map((step) => step.filter((test) => !seen.has(test) && seen.add(test)))
    .filter((step) => step.length > 0);
}

function isBelow(folder, other) {
  return folder === other || folder.startsWith(`${other}/`);
}

/** The sources that a test imports itself. */
function importsOf(test, text) {
  const paths = [...text.matchAll(/from "(\.[^"]+)\.js"/g)].map(([, path]) => join(dirname(test), `${path}.ts`));
  return new Set(paths);
}
