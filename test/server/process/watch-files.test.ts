import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileWatcher } from "../../../src/server/process/watch-files.js";
import { until } from "./program.js";

function project(): string {
  const folder = mkdtempSync(join(tmpdir(), "stoa-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function watched(roots: string[]): { changes: string[]; saw(path: string): Promise<void> } {
  const changes: string[] = [];
  const watcher = new FileWatcher(roots, (paths) => changes.push(...paths));
  onTestFinished(() => watcher.close());
  expect(watcher.problem).toBeNull();
  return {
    changes,
    saw: (path) =>
      until(
        () => changes.includes(path),
        () => `${path} in ${changes}`,
      ),
  };
}

describe("FileWatcher", () => {
  it("The file watcher reports source files that are changed, made, moved over and removed", async () => {
    const root = project();
    const file = join(root, "app.ts");
    writeFileSync(file, "1");
    const { changes, saw } = watched([root]);
    for (const name of ["a.mjs", "b.cts", "c.tsx", "d.json", ".env", ".env.local", "e.jsx"]) {
      writeFileSync(join(root, name), "1");
      await saw(join(root, name));
    }
    writeFileSync(join(root, "app.ts.tmp"), "2");
    renameSync(join(root, "app.ts.tmp"), file);
    await saw(file);
    changes.length = 0;
    rmSync(file);
    await saw(file);
  });

  it("The file watcher reports simultaneous changes together", async () => {
    const root = project();
    const calls: (readonly string[])[] = [];
    const watcher = new FileWatcher([root], (paths) => calls.push(paths), 300);
    onTestFinished(() => watcher.close());
    for (const name of ["a.ts", "b.ts", "c.ts"]) writeFileSync(join(root, name), "1");
    await until(() => calls.length > 0);
    expect(calls[0]!.toSorted()).toEqual(["a.ts", "b.ts", "c.ts"].map((name) => join(root, name)));
  });

  it("The file watcher notices new folders, and the files that were already in them", async () => {
    const root = project();
    const { changes, saw } = watched([root]);
    mkdirSync(join(root, "routes/books"), { recursive: true });
    const file = join(root, "routes/books/list.ts");
    writeFileSync(file, "1");
    await saw(file);
    changes.length = 0;
    writeFileSync(file, "2");
    await saw(file);

    rmSync(join(root, "routes"), { recursive: true });
    mkdirSync(join(root, "routes/books"), { recursive: true });
    changes.length = 0;
    writeFileSync(file, "3");
    await saw(file);
    changes.length = 0;
    writeFileSync(file, "4");
    await saw(file);
  });

  it("The file watcher ignores files that are not the program's source", async () => {
    const root = project();
    const others = ["node_modules/a", ".git", "coverage", "dist", "build", ".cache"];
    for (const folder of others) mkdirSync(join(root, folder), { recursive: true });
    const { changes, saw } = watched([root]);
    for (const folder of others) writeFileSync(join(root, folder, "x.js"), "1");
    for (const name of ["a.log", "b.sqlite", "c.ts~", ".d.ts.swp"]) writeFileSync(join(root, name), "1");
    const last = join(root, "last.ts");
    writeFileSync(last, "1");
    await saw(last);
    expect(changes).toEqual([last]);
  });

  it("The file watcher watches a requested folder whatever its name", async () => {
    const root = project();
    const dist = join(root, "dist");
    mkdirSync(dist);
    const { saw } = watched([root, dist]);
    writeFileSync(join(dist, "app.js"), "1");
    await saw(join(dist, "app.js"));
  });
});
