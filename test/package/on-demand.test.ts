import { isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputChunk, rolldown } from "rolldown";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every module that is loaded together with a file, not on demand. */
async function loadedWith(file: string): Promise<string[]> {
  await using build = await rolldown({
    input: join(root, file),
    cwd: root,
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await build.generate({ format: "esm" });
  const chunks = new Map(output.filter((file) => file.type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const reached = new Set<OutputChunk>(output.slice(0, 1) as OutputChunk[]);
  for (const { imports } of reached) {
    for (const name of imports) if (chunks.has(name)) reached.add(chunks.get(name)!);
  }
  return [...reached].flatMap(({ moduleIds }) => moduleIds.map((id) => relative(root, id)));
}

it("An application loads only the modules that every application needs", async () => {
  const modules = await loadedWith("src/entry/index.ts");
  expect(modules).toEqual(expect.arrayContaining(["src/app/app.ts", "src/engines/db/feature.ts"]));
  const onDemand = [
    /^src\/engines\/db\/(postgres|pglite|pool|transaction|statements|values\/(encode|decode|read))\b/,
    /^src\/engines\/kvstore\/(kvstore|batch|lock|scan|script|subscriptions|commands|connection|stores)\b/,
    /^src\/batteries\/telemetry\/(telemetry|settings|environment|export|http|logs|metrics|otel-api|otlp|propagation|trace\/(tracer|context|recorded-span))/,
    /^src\/batteries\/cache\/(response-cache|memory-store|entry)/,
    /^src\/batteries\/(compression\/compression|csrf\/csrf|sessions\/sessions|static-files\/static-files)\.ts/,
    /^src\/batteries\/(rate-limit\/rate-limit|circuit-breaker\/circuit-breaker)/,
    /^src\/(validation\/(validate|coerce|response)\.ts|websocket\/(endpoint|channel|frame)|batteries\/live\/(overview|live-server|add-live-page)|console\/(page|style|add-section))/,
    /^src\/apis\/mcp\/(server|methods|exchange|catalog|call|call-request|streams|bus|sessions|start|results|schemas|oauth|content)\.ts/,
    /^src\/migrations\/(migrator|executor|plan|graph|files)/,
    /^src\/(errors\/pages\/(development-page|page-style)|http\/(web|files\/(send-file|open-file))\.ts|batteries\/health\/run-check|orm\/query)/,
  ];
  expect(modules.filter((id) => onDemand.some((pattern) => pattern.test(id)))).toEqual([]);
});
