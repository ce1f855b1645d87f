import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../scripts/chaos/compile.mjs";

/** A program of a test and its sources in one folder, for processes that are started many times. */
export interface Compiled {
  readonly file: string;
  remove(): Promise<void>;
}

export async function compiled(program: string): Promise<Compiled> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-program-"));
  const file = await compile(program, folder);
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}
