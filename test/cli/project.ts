import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { until } from "../server/process/program.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A project that has installed the package, with nothing in it but what a test writes. */
export class Project {
  private constructor(readonly folder: string) {}

  static async create(files: Readonly<Record<string, string>> = {}, packages = ["tsx"]): Promise<Project> {
    const folder = await mkdtemp(join(tmpdir(), "stoa-project-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const modules = join(folder, "node_modules");
    await mkdir(modules);
    await symlink(root, join(modules, "stoa"));
    for (const name of packages) await symlink(join(root, "node_modules", name), join(modules, name));
    const project = new Project(folder);
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

  /** Starts `stoa` in the project. */
  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Run {
    return new Run(this.folder, args, env);
  }

  /** Runs `stoa` to its end. */
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

  constructor(folder: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    const { DATABASE_URL: _url, NODE_OPTIONS: _options, VITEST: _vitest, ...rest } = process.env;
    this.child = spawn(process.execPath, [join(root, "dist/cli/main.js"), ...args], {
      cwd: folder,
      env: { ...rest, ...env },
      stdio: ["ignore", "pipe", "pipe"],
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
