import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { StartError } from "../start-error.js";
import { childEnvironment, isChildMessage } from "./parent-link.js";
import { exitCodeOf, onStopSignal, survivesBrokenOutput } from "./signals.js";
import { FileWatcher } from "./watch-files.js";

/** Milliseconds that a child has to drain and run its shutdown hooks before it is killed. */
const patience = 2_000;

/**
 * Runs the program in a child process and again whenever a source file changes. This process serves nothing and lives
 * until it is stopped: the code behind `run` in the program runs in the child only.
 */
export function reloadForever(port: number): Promise<never> {
  const script = process.argv[1];
  if (script === undefined) throw new StartError("reload runs the program again: it must be a file");
  survivesBrokenOutput();
  const reloader = new Reloader(port);
  const watcher = new FileWatcher(rootsOf(script), (paths) => reloader.restart(paths));
  if (watcher.problem) say(`some folders are not watched: ${watcher.problem.message}`);
  onStopSignal((signal, count) => (count === 1 ? reloader.stop() : reloader.force(exitCodeOf(signal))));
  reloader.start();
  return new Promise(() => {});
}

class Reloader {
  #port: number;
  #child: ChildProcess | null = null;
  /** True if a child has ever served. */
  #served = false;
  #next: "start" | "exit" | null = null;
  #exitCode = 0;
  #killer: NodeJS.Timeout | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  start(): void {
    const role = {
      role: "reload",
      port: this.#port || null,
      again: this.#served,
      parent: process.pid,
      report: null,
      routes: null,
      refused: [],
    } as const;
    const child = spawn(process.execPath, [...childArguments(), ...process.argv.slice(1)], {
      stdio: ["inherit", "inherit", "inherit", "ipc"],
      env: { ...process.env, ...childEnvironment(role) },
    });
    this.#child = child;
    let failed = false;
    child.on("message", (message) => {
      if (!isChildMessage(message)) return;
      if (message.stoa === "ready") {
        this.#served = true;
        this.#port = message.address.port;
      } else if (message.stoa === "failed") {
        failed = true;
        process.stderr.write(`stoa: ${message.reason}\n`);
        // Nothing that could be saved will free a port.
        if (!this.#served && !message.code) this.#giveUp();
      }
    });
    child.once("exit", (code, signal) => this.#ended(failed ? "could not start" : ending(code, signal)));
    child.on("error", (error) => say(error.message));
  }

  restart(paths: readonly string[]): void {
    if (this.#next) return;
    say(`${list(paths)} changed; restarting`);
    if (this.#child) {
      this.#next = "start";
      this.#end();
    } else this.start();
  }

  stop(): void {
    this.#next = "exit";
    if (!this.#child) process.exit(0);
    this.#end();
  }

  force(code: number): never {
    this.#child?.kill("SIGKILL");
    process.exit(code);
  }

  #giveUp(): void {
    this.#next = "exit";
    this.#exitCode = 1;
  }

  #end(): void {
    const child = this.#child;
    child?.kill("SIGTERM");
    clearTimeout(this.#killer);
    this.#killer = setTimeout(() => child?.kill("SIGKILL"), patience);
  }

  #ended(how: string): void {
    clearTimeout(this.#killer);
    this.#child = null;
    const next = this.#next;
    this.#next = null;
    if (next === "exit") process.exit(this.#exitCode);
    if (next === "start") this.start();
    else say(`the program ${how}; it starts again when a file changes`);
  }
}

/** The debugger's port is taken by this process. */
function childArguments(): string[] {
  return process.execArgv.map((argument) => argument.replace(/^(--inspect(?:-brk|-wait)?)(?:=.*)?$/, "$1=0"));
}

/** The folder of the program, and the project it is started in. */
function rootsOf(script: string): string[] {
  const folder = dirname(realpathSync(script));
  const project = process.cwd();
  return existsSync(join(project, "package.json")) ? [project, folder] : [folder];
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
