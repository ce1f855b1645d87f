import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { commands } from "../../src/cli/commands.js";
import { runCli } from "../../src/cli/run-cli.js";
import { createTerminal } from "../../src/cli/terminal.js";
import { until } from "../server/process/program.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

// Test files are loaded with the loader of the test runner, which reads TypeScript: `run` registers no other one.
const { extensions } = createRequire(import.meta.url);
extensions[".ts"] ??= extensions[".js"]!;

/** A project that has installed the package, with nothing in it but what a test writes. */
export class Project {
  #folder: string;
  #runs = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  get folder(): string {
    return this.#folder;
  }

  static async create(files: Readonly<Record<string, string>> = {}, packages = ["tsx"]): Promise<Project> {
    const folder = await mkdtemp(join(tmpdir(), "stoa-project-"));
    const modules = join(folder, "node_modules");
    await mkdir(modules);
    await symlink(root, join(modules, "stoa"));
    for (const name of packages) await symlink(join(root, "node_modules", name), join(modules, name));
    const project = new Project(folder);
    onTestFinished(() => rm(project.folder, { recursive: true, force: true }));
    await project.write("package.json", '{ "type": "module" }');
    for (const [name, text] of Object.entries(files)) await project.write(name, text);
    return project;
  }

  async write(name: string, text: string): Promise<void> {
    const file = join(this.folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }

  read(name: string): Promise<string> {
    return readFile(join(this.folder, name), "utf8");
  }

  remove(name: string): Promise<void> {
    return rm(join(this.folder, name));
  }

  async migrations(): Promise<string[]> {
    return (await readdir(join(this.folder, "migrations")).catch(() => [])).sort();
  }

  /** Starts the installed `stoa`, in a process of its own. */
  start(args: readonly string[], env: Readonly<Record<string, string>> = {}, stdin: "ignore" | "pipe" = "ignore"): Run {
    return new Run(this.folder, args, env, stdin);
  }

  /**
   * Runs a command to its end in this process, from the sources: the start of a process takes longer than most commands. A
   * module is loaded once for each path, so the folder gets another name for each run.
   */
  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Result> {
    const next = this.#folder.replace(/(?:-run\d+)?$/, `-run${++this.#runs}`);
    await rename(this.#folder, next);
    this.#folder = next;
    const output = { stdout: "", stderr: "" };
    const sink = (name: "stdout" | "stderr"): Writable =>
      new Writable({
        decodeStrings: false,
        write(text: string, _encoding, done) {
          output[name] += text;
          done();
        },
      });
    const { signal } = new AbortController();
    const streams = { stdin: Readable.from([]), stdout: sink("stdout"), stderr: sink("stderr") };
    const code = await runCli(args, commands, { terminal: createTerminal(streams, signal), cwd: next, env, signal });
    return { code, ...output };
  }

  /** Runs the installed `stoa` to its end, in a process of its own. */
  async stoa(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Result> {
    return this.start(args, env).end();
  }
}

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `stoa` in a process of its own. */
export class Run {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  readonly #closed: Promise<unknown>;
  #ended = false;

  constructor(
    folder: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    stdin: "ignore" | "pipe" = "ignore",
  ) {
    const { DATABASE_URL: _url, NODE_OPTIONS: _options, VITEST: _vitest, ...rest } = process.env;
    this.child = spawn(process.execPath, [join(root, "dist/cli/main.js"), ...args], {
      cwd: folder,
      env: { ...rest, ...env },
      stdio: [stdin, "pipe", "pipe"],
    });
    this.child.stdout!.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.child.stderr!.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#closed = once(this.child, "close").then(() => {
      this.#ended = true;
    });
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  /** Waits until a text was printed to standard error. */
  async tells(text: string): Promise<void> {
    await until(
      () => this.stderr.includes(text) || this.#ended,
      () => `${text} in\n${this.stdout}\n${this.stderr}`,
    );
    if (!this.stderr.includes(text)) throw new Error(`ended without ${text}:\n${this.stdout}\n${this.stderr}`);
  }

  async end(): Promise<Result> {
    await this.#closed;
    return { code: this.child.exitCode, stdout: this.stdout, stderr: this.stderr };
  }
}
