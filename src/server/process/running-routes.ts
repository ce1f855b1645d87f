import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RouteWatch } from "../run-target.js";
import type { Dispatch } from "../transport.js";

/** The descriptor in a worker of the file that names its routes. */
export const routesDescriptor = 5;
/** Bytes for the route of the last request that began, then for those in flight. */
const sizes = { last: 512, inFlight: 2048 };
/** Milliseconds between two notes of the routes in flight. */
const noteEvery = 100;

/** The routes that a worker ran. */
export interface RunningRoutes {
  /** The route of the last request that began. */
  readonly last: string | null;
  /** The routes with requests that had no response yet, the last tenth of a second apart. */
  readonly inFlight: readonly string[];
}

/**
 * Notes the routes that run in a file without a name, which outlives a process that is killed. Only a request of another
 * route than the last one is written at once: that takes 0.8 microseconds.
 */
export class RouteRecorder implements RouteWatch {
  readonly #file: number;
  readonly #refused: Set<string>;
  readonly #inFlight = new Map<string, number>();
  #last = "";
  #notedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  constructor(file: number, refused: Iterable<string>) {
    this.#file = file;
    this.#refused = new Set(refused);
  }

  get running(): RunningRoutes {
    return { last: this.#last || null, inFlight: [...this.#inFlight.keys()] };
  }

  refuse(routes: readonly string[]): void {
    this.#refused.clear();
    for (const route of routes) this.#refused.add(route);
  }

  around(name: string, run: Dispatch, refuse: Dispatch): Dispatch {
    const text = padded(name, sizes.last);
    return (request) => {
      if (this.#refused.size > 0 && this.#refused.has(name)) return refuse(request);
      if (this.#last !== name) {
        this.#last = name;
        this.#write(text, 0);
      }
      const response = run(request);
      if (response instanceof Promise) this.#follow(name, response);
      return response;
    };
  }

  #follow(name: string, response: Promise<unknown>): void {
    this.#count(name, 1);
    const end = (): void => this.#count(name, -1);
    response.then(end, end);
  }

  #count(name: string, change: number): void {
    const before = this.#inFlight.get(name) ?? 0;
    const now = before + change;
    if (now === 0) this.#inFlight.delete(name);
    else this.#inFlight.set(name, now);
    if ((before === 0 || now === 0) && this.#timer === null) this.#schedule();
  }

  /** At once if that was not done lately. */
  #schedule(): void {
    const wait = this.#notedAt + noteEvery - performance.now();
    if (wait <= 0) this.#note();
    else this.#timer = setTimeout(() => this.#note(), wait).unref();
  }

  #note(): void {
    this.#timer = null;
    this.#notedAt = performance.now();
    this.#write(padded([...this.#inFlight.keys()].join("\n"), sizes.inFlight), sizes.last);
  }

  #write(text: Buffer, position: number): void {
    try {
      writeSync(this.#file, text, 0, text.length, position);
    } catch {
      // A full disk costs the name of the route, not the request.
    }
  }
}

/** The routes as the end of a sentence; empty if no request has begun. */
export function whileItRan({ last, inFlight }: RunningRoutes): string {
  if (last === null) return "";
  const others = inFlight.filter((route) => route !== last);
  return ` while it ran ${last}${others.length > 0 ? ` (in flight: ${others.join(", ")})` : ""}`;
}

/** A new file for the routes of one worker; null if the system has no place for it. */
export function openRoutesFile(name: string): number | null {
  try {
    const path = join(tmpdir(), `stoa-${process.pid}-${name}`);
    const file = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    return file;
  } catch {
    return null;
  }
}

/** Reads and closes the file of a worker that has ended. */
export function takeRoutes(file: number | null): RunningRoutes {
  if (file === null) return { last: null, inFlight: [] };
  const bytes = Buffer.alloc(sizes.last + sizes.inFlight);
  try {
    readSync(file, bytes, 0, bytes.length, 0);
    closeSync(file);
  } catch {
    return { last: null, inFlight: [] };
  }
  const [last = ""] = linesOf(bytes.subarray(0, sizes.last));
  return { last: last || null, inFlight: linesOf(bytes.subarray(sizes.last)) };
}

function linesOf(bytes: Buffer): string[] {
  return bytes
    .toString("utf8")
    .split("\n")
    .map((line) => line.replaceAll("\0", ""))
    .filter((line) => line !== "");
}

function padded(text: string, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.write(text);
  return bytes;
}
