import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bin, root, runNode } from "../../scripts/process.mjs";
import { median } from "./statistics.mjs";

/**
 * The cost of type checking the same application in Stoa and in Hono, at several sizes. The time of an empty
 * application is subtracted: the rest is the cost of the routes. If the instantiations per route do not rise, the
 * growth is linear.
 */
export async function measureTypes(folder, { sizes, runs }) {
  await prepareProject(folder);
  const results = [];
  for (const [name, source] of Object.entries(sources)) {
    const empty = await check(folder, source(0), runs);
    for (const routes of sizes) {
      const { seconds, instantiations } = await check(folder, source(routes), runs);
      const perRoute = (instantiations - empty.instantiations) / routes;
      results.push({ name, routes, seconds, ofRoutes: seconds - empty.seconds, instantiations, perRoute });
    }
  }
  return results;
}

const sources = {
  stoa: (routes) => `import { App } from "stoa";
const app = new App();
${repeat(
  routes,
  (n) => `app.get("/things${n}/{id}/parts/{part}", (request) => {
  const limit = request.query.get("limit");
  return { id: request.params.id, part: Number(request.params.part), limit, route: ${n} };
});
app.post("/things${n}", (request) => ({ created: request.json(), route: ${n} }));
`,
)}export default app;
`,
  hono: (routes) => `import { Hono } from "hono";
const app = new Hono();
${repeat(
  routes,
  (n) => `app.get("/things${n}/:id/parts/:part", (c) => {
  const limit = c.req.query("limit");
  return c.json({ id: c.req.param("id"), part: Number(c.req.param("part")), limit, route: ${n} });
});
app.post("/things${n}", async (c) => c.json({ created: await c.req.json(), route: ${n} }));
`,
)}export default app;
`,
};

/** Two routes a time. */
function repeat(routes, text) {
  return Array.from({ length: routes / 2 }, (_, n) => text(n)).join("");
}

async function prepareProject(folder) {
  const modules = join(folder, "node_modules");
  await mkdir(join(modules, "@types"), { recursive: true });
  await symlink(root, join(modules, "stoa"));
  await symlink(join(root, "bench/node_modules/hono"), join(modules, "hono"));
  await symlink(join(root, "node_modules/@types/node"), join(modules, "@types/node"));
  const compilerOptions = { module: "NodeNext", target: "ES2022", lib: ["ES2024"], types: ["node"] };
  Object.assign(compilerOptions, { strict: true, skipLibCheck: true, noEmit: true });
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["app.ts"] }));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
}

async function check(folder, source, runs) {
  await writeFile(join(folder, "app.ts"), source);
  const seconds = [];
  let instantiations = 0;
  for (let n = 0; n < runs; n++) {
    const { code, output } = await runNode(bin.tsc, ["-p", ".", "--extendedDiagnostics"], { cwd: folder });
    if (code !== 0) throw new Error(`the generated application does not compile: ${output.split("\n")[0]}`);
    seconds.push(Number(/^Check time:\s+([\d.]+)s/m.exec(output)[1]));
    instantiations = Number(/^Instantiations:\s+(\d+)/m.exec(output)[1]);
  }
  return { seconds: median(seconds), instantiations };
}
