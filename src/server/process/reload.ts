import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Keeper } from "../run-target.js";
import { StartError } from "../start-error.js";
import { machineId } from "./machine.js";
import { type ChildMessage, childEnvironment, isChildMessage, type ParentMessage } from "./parent-link.js";
import { SharedListeners, type Worker } from "./shared-listeners.js";
import { exitCodeOf, onStopSignal, survivesBrokenOutput } from "./signals.js";
import { FileWatcher } from "./watch-files.js";

/** Milliseconds that a child has to drain and run its shutdown hooks before it is killed. */
const patience = 2_000;

/** A program to run again for each change. */
export interface ReloadedProgram {
  /** The arguments of Node: the file of the program, and its own arguments. */
  readonly args: readonly string[];
  /** The folders whose source files are watched. */
  readonly folders: readonly string[];
}

/** The program of a command line: the folder of its file is watched, and the project it is started in. */
export function programOf([, script, ...rest]: readonly string[]): ReloadedProgram {
  if (script === undefined) throw new StartError("reload runs the program again: it must be a file");
  const folder = dirname(realpathSync(script));
  const project = process.cwd();
  return {
    args: [script, ...rest],
    folders: existsSync(join(project, "package.json")) ? [project, folder] : [folder],
  };
}

/**
 * Runs the program in a child process and again whenever a source file changes. This process serves nothing and lives
 * until it is stopped: the code behind `run` in the program runs in the child only. It holds what is to outlive a child:
 * the listening sockets, at which connections wait for the next one, and embedded databases.
 */
export function reloadForever(program: ReloadedProgram, loadKeeper: () => Promise<Keeper> | undefined): Promise<never> {
  survivesBrokenOutput();
  const reloader = new Reloader(program.args, loadKeeper);
  const watcher = new FileWatcher(program.folders, (paths) => reloader.restart(paths));
  if (watcher.problem) say(`some folders are not watched: ${watcher.problem.message}`);
  onStopSignal((signal, count) => (count === 1 ? reloader.stop() : reloader.force(exitCodeOf(signal))));
  reloader.start("");
  return new Promise(() => {});
}

class Reloader {
  readonly #args: readonly string[];
  readonly #loadKeeper: () => Promise<Keeper> | undefined;
  #keeper: Promise<Keeper> | undefined;
  readonly #listeners = new SharedListeners();
  /** The newest child is the last one; those before it are ending. */
  readonly #children = new Set<Child>();
  /** Files that the program writes. */
  readonly #written = new Set<string>();
  /** True if a child has ever served. */
  #served = false;
  #exitCode: number | null = null;

  constructor(args: readonly string[], loadKeeper: () => Promise<Keeper> | undefined) {
    this.#args = args;
    this.#loadKeeper = loadKeeper;
  }

  start(reason: string): void {
    const child = new Child(this.#args, this.#served);
    this.#children.add(child);
    this.#listeners.refuse(null);
    const began = performance.now();
    let failure: string | null = null;
    child.process.on("message", (message) => {
      if (!isChildMessage(message)) return;
      if (message.stoa === "ready") {
        this.#listeners.closeUnused();
        if (this.#served) say(`ready again after ${((performance.now() - began) / 1000).toFixed(1)} s: ${reason}`);
        this.#served = true;
      } else if (message.stoa === "failed") {
        failure = message.reason;
        process.stderr.write(`stoa: ${failure}\n`);
        // Nothing that could be saved will free a port.
        if (!this.#served && !message.code) this.#exitCode = 1;
      } else void this.#serve(child, message);
    });
    child.process.once("exit", (code, signal) => {
      this.#ended(child, failure, failure === null ? ending(code, signal) : "could not start");
    });
    child.process.on("error", (error) => say(error.message));
  }

  restart(paths: readonly string[]): void {
    const changed = paths.filter((path) => !this.#written.has(path));
    if (changed.length === 0 || this.#exitCode !== null) return;
    this.#endAll();
    this.start(`${list(changed)} changed`);
  }

  stop(): void {
    this.#exitCode = 0;
    this.#endAll();
    void this.#exitIfAlone();
  }

  force(code: number): never {
    for (const child of this.#children) child.process.kill("SIGKILL");
    process.exit(code);
  }

  /** Does what a child asks for. */
  async #serve(child: Child, message: ChildMessage): Promise<void> {
    if (message.stoa === "listen") await this.#listeners.open(child, message.key, message.address);
    else if (message.stoa === "took") this.#listeners.took(child, message.key, message.taken);
    else if (message.stoa === "closed") this.#listeners.leave(child, message.key, true);
    else if (message.stoa === "wrote") this.#written.add(message.path);
    else if (message.stoa === "keep") child.send({ stoa: "kept", server: await this.#keep(message.folder) });
    else if (message.stoa === "loaded") {
      child.loaded = true;
      this.#startIfAlone();
    }
  }

  /** If it cannot be kept, the child opens it and tells why that fails. */
  async #keep(folder: string): Promise<string | null> {
    try {
      const keeper = await (this.#keeper ??= this.#loadKeeper());
      return (await keeper?.open(folder)) ?? null;
    } catch {
      return null;
    }
  }

  #endAll(): void {
    for (const child of this.#children) child.end();
  }

  #ended(child: Child, failure: string | null, how: string): void {
    const last = [...this.#children].at(-1) === child;
    this.#children.delete(child);
    this.#listeners.lost(child);
    if (this.#exitCode !== null) return void this.#exitIfAlone();
    this.#startIfAlone();
    if (!last) return;
    say(`the program ${how}; it starts again when a file changes`);
    this.#listeners.refuse(unavailable(failure ?? `the program ${how}`));
  }

  /** Two children never run at the same time; the next one is loaded while the one before ends. */
  #startIfAlone(): void {
    const [child, ...others] = this.#children;
    if (child?.loaded && others.length === 0) child.send({ stoa: "alone" });
  }

  async #exitIfAlone(): Promise<void> {
    if (this.#children.size > 0) return;
    this.#listeners.close();
    await (await this.#keeper?.catch(() => undefined))?.close();
    process.exit(this.#exitCode ?? 0);
  }
}

class Child implements Worker {
  readonly process: ChildProcess;
  loaded = false;
  #killer: NodeJS.Timeout | undefined;

  constructor(args: readonly string[], again: boolean) {
    const role = {
      role: "reload",
      again,
      parent: process.pid,
      machine: machineId(),
      report: null,
      routes: null,
      memory: null,
      refused: [],
    } as const;
    this.process = spawn(process.execPath, [...nodeArguments(), ...args], {
      stdio: ["inherit", "inherit", "inherit", "ipc"],
      env: { ...process.env, ...childEnvironment(role) },
    });
  }

  end(): void {
    if (this.#killer !== undefined) return;
    this.process.kill("SIGTERM");
    this.#killer = setTimeout(() => this.process.kill("SIGKILL"), patience);
    this.process.once("exit", () => clearTimeout(this.#killer));
  }

  isDead(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  isConnected(): boolean {
    return this.process.connected;
  }

  send(message: ParentMessage, ...rest: [] | [handle: never, options: undefined, done: () => void]): void {
    const [handle, , done = () => {}] = rest;
    if (this.process.connected) this.process.send(message, handle, undefined, done);
  }
}

/** The debugger's port is taken by this process. */
function nodeArguments(): string[] {
  return process.execArgv.map((argument) => argument.replace(/^(--inspect(?:-brk|-wait)?)(?:=.*)?$/, "$1=0"));
}

/** The response while the program cannot run. */
function unavailable(reason: string): string {
  const text = `${reason}\n\nThe program starts again when a file changes.\n`;
  const head = `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}`;
  return `HTTP/1.1 503 Service Unavailable\r\n${head}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${text}`;
}

function ending(code: number | null, signal: string | null): string {
  return signal ? `was ended by ${signal}` : `exited with code ${code}`;
}

function list(paths: readonly string[]): string {
  const names = paths.map((path) => relative(process.cwd(), path) || path);
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more files`;
}

function say(text: string): void {
  process.stdout.write(`stoa: ${text}\n`);
}
