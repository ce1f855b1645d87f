import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelConstructor } from "../../src/entry/orm.js";

/** Imports a module of models as it was written, and gives its classes by name. */
export async function importModels(
  source: string,
  language: "ts" | "js" = "ts",
): Promise<Record<string, ModelConstructor>> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-models-"));
  try {
    const file = join(folder, `models.${language}`);
    await writeFile(file, source);
    const module = (await import(/* @vite-ignore */ file)) as Record<string, unknown>;
    const classes = Object.entries(module).filter(([, each]) => typeof each === "function");
    return Object.fromEntries(classes) as Record<string, ModelConstructor>;
  } finally {
    await rm(folder, { recursive: true });
  }
}
