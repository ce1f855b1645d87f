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

it("an application without a database does not load what runs statements", async () => {
  const modules = await loadedWith("src/index.ts");
  expect(modules).toContain("src/db/lazy-database.ts");
  const onDemand = /^src\/db\/(postgres|pglite|pool|transaction|job|statements|values\/(encode|decode|read))\b/;
  expect(modules.filter((id) => onDemand.test(id))).toEqual([]);
});
