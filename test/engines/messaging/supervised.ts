import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { TestContext } from "vitest";
import { compiled } from "../../support/compiled.js";

/** A worker that is started again whenever it ends, until the test is over. Returns the function that ends it. */
export function supervised(
  { onTestFinished }: TestContext,
  program: string,
  settings: object,
  lines: string[],
): () => void {
  let over = false;
  let stop = () => {};
  const start = () => {
    const child = spawn(process.execPath, [compiled(program), JSON.stringify(settings)]);
    createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
    child.on("exit", () => {
      if (!over) start();
    });
    stop = () => child.kill("SIGKILL");
  };
  start();
  const end = () => {
    over = true;
    stop();
  };
  onTestFinished(end);
  return end;
}
