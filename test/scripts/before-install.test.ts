import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const scripts = resolve(import.meta.dirname, "../../scripts");

/** Everything that is loaded with a script, before its first line runs. */
function loadedWith(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, name] of text.matchAll(/^(?:import|export)\b[^;]*?\bfrom "([^"]+)";|^import "([^"]+)";/gm)) {
    if (name?.startsWith(".")) loadedWith(join(dirname(file), name), found);
    else if (name !== undefined) found.add(name);
  }
  return found;
}

describe("scripts that install the packages", () => {
  it.each(["test.mjs", "start.mjs"])("The script %s needs no package before it has installed them", (name) => {
    const packages = [...loadedWith(join(scripts, name))].filter(
      (each) => !each.startsWith("/") && !each.startsWith("node:"),
    );
    expect(packages).toEqual([]);
  });
});
