import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { RunOptions } from "../../../src/server/run-options.js";
import { compiled } from "../../support/compiled.js";

export interface ProgramOptions {
  readonly args?: readonly string[];
  readonly options?: RunOptions;
  readonly env?: Readonly<Record<string, string>>;
  readonly node?: readonly string[];
  /** The program's file, where it is not the common one. */
  readonly file?: string;
  /** False for a program that runs as TypeScript, with its files watched and named in stacks. */
  readonly compile?: boolean;
  readonly cwd?: string;
  /** True for a program of several tests: whoever started it ends it. */
  readonly shared?: boolean;
  /** A shell command line that runs `"$@"`. */
  readonly shell?: string;
  /** True for a process group of its own, so that one signal reaches the program and its workers. */
  readonly group?: boolean;
}

/** A program that runs a server, in a process of its own. */
export class Program {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  #closed = false;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;

  constructor(options: ProgramOptions = {}) {
    const file = options.file ?? fileURLToPath(new URL("./fixtures/program.ts", import.meta.url));
    const loader = options.compile === false ? ["--import", import.meta.resolve("tsx")] : [];
    const isSource = options.compile !== false && file.endsWith(".ts");
    const program = [...loader, isSource ? compiled(file) : file];
    const command = [process.execPath, ...(options.node ?? []), ...program, ...(options.args ?? [])];
    if (options.shell) command.unshift("/bin/sh", "-c", options.shell, "sh");
    const settings: SpawnOptions = {
      cwd: options.cwd,
      env: { ...cleanEnvironment(), OPTIONS: JSON.stringify(options.options ?? {}), ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: options.group ?? false,
    };
    this.child = spawn(command[0]!, command.slice(1), settings);
    this.child.stdout!.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.child.stderr!.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.exited = once(this.child, "close").then(([code, signal]) => {
      this.#closed = true;
      return { code, signal };
    });
    if (!options.shared) onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  /** Waits until the standard output holds the text, `count` times. */
  async shows(pattern: RegExp, count = 1): Promise<RegExpMatchArray> {
    const all = new RegExp(pattern.source, `${pattern.flags}g`);
    const found = (): RegExpMatchArray | undefined => [...this.stdout.matchAll(all)][count - 1];
    const lost = (): string => `${pattern} in ${this.report()}`;
    await until(() => found() !== undefined || this.#closed, lost);
    const match = found();
    if (!match) throw new Error(`the program ended without ${lost()}`);
    return match;
  }

  /** Its address, once it listens. */
  async url(): Promise<string> {
    return (await this.shows(/listening on (\S+?)["\n]/))[1]!;
  }

  report(): string {
    return `stdout:\n${this.stdout}\nstderr:\n${this.stderr}`;
  }
}

/** The response of a server; a connection of its own for each. */
export function get(url: string, agent?: object): Promise<{ status: number; text: string; connection: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, ...agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("end", () =>
        resolve({ status: response.statusCode!, text, connection: response.headers.connection ?? "" }),
      );
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** The workers that respond, once there are as many as expected and none of those excluded. */
export async function respondingWorkers(url: string, count: number, except: readonly string[] = []): Promise<string[]> {
  const seen = new Set<string>();
  await until(async () => {
    const pid = await get(`${url}/pid`).then(
      ({ text }) => text,
      () => "",
    );
    if (pid && !except.includes(pid)) seen.add(pid);
    return seen.size >= count;
  });
  return [...seen];
}

export function isAlive(pid: string): boolean {
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits for a condition, with a bound that only a fault reaches. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: () => string = () => String(condition),
): Promise<void> {
  const deadline = Date.now() + 150_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what()}`);
    await pause(20);
  }
}

/** For tests that start processes: several, on a machine that may be busy. */
export const patient = { timeout: 120_000 };

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PORT: _port, NODE_ENV: _env, NODE_OPTIONS: _options, VITEST: _vitest, ...rest } = process.env;
  return rest;
}
