import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { App } from "../../src/app/app.js";
import { commands } from "../../src/cli/commands.js";
import { runCli } from "../../src/cli/run-cli.js";

export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command as the terminal would, in this process and from the sources. */
export async function runCommand(cwd: string, ...given: string[]): Promise<Printed> {
  let [out, err] = ["", ""];
  const terminal = {
    print: (text: string) => void (out += `${text}\n`),
    note: (text: string) => void (err += `${text}\n`),
    interactive: false,
    ask: () => Promise.reject(new Error("no")),
  };
  const code = await runCli(given, commands, { terminal, cwd, env: {}, signal: new AbortController().signal });
  return { code, out, err };
}

/** A folder with modules of a test. `App` in them is that of the sources. */
export async function makeFolder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-command-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  Object.assign(globalThis, { App });
  onTestFinished(() => void delete (globalThis as { App?: unknown }).App);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}
