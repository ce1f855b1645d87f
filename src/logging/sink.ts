import { fstatSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { type OptionsOf, option, options } from "../kit/config.js";
import { type Check, is } from "../kit/options.js";
import { backoff } from "../kit/time/backoff.js";
import { milliseconds } from "../kit/time/duration.js";

/** The destination of log lines. Each text is one or more whole lines, with line feeds. A Writable stream is a sink too. */
export interface LogSink {
  write(lines: string): unknown;
  /** The file descriptor behind the sink, where there is one: decides whether lines are written for a terminal. */
  readonly fd?: number;
}

export const isSink: Check<LogSink> = (value) =>
  typeof (value as LogSink | null)?.write === "function" ? undefined : "an object with a write method";

const fileSinkOptions = options("FileSink", {
  /** The file descriptor. Default 1, standard output. */
  fd: option(is.integer(0), 1),
  /** Collected characters at which they are written. Default 16 KiB. */
  batchSize: option(is.integer(1), 16 * 1024),
  /** Time after which a smaller batch is written; 0 for the end of the turn of the event loop. Default 20 ms, in a terminal 0. */
  delay: option.duration(null, 0, "24d"),
  /** Bytes kept while the output takes nothing; further lines are dropped and counted. Default 1 MiB. */
  maxPending: option(is.integer(0), 1024 * 1024),
  /** Time for which `flushSync` waits for an output that takes nothing at all. Default 1 second. */
  patience: option.duration("1s"),
});

export interface FileSinkOptions extends OptionsOf<typeof fileSinkOptions.fields> {}

/**
 * Collects lines and writes them to a file descriptor in few writes.
 *
 * The writes are synchronous, on a descriptor that does not block where that matters:
 * - a pipe or socket whose reader is slow returns EAGAIN; the bytes stay here, a timer tries again, and the server
 *   continues. Node makes pipes non-blocking when `process.stdout` is first touched, as every `console.log` does;
 * - a file takes a batch at the cost of a copy into the page cache; a terminal takes it at once.
 *
 * `fs.write` in the thread pool is not used: with a stuck reader it holds the process at exit (the pool's threads are
 * joined), and it leaves unknown how much of a batch is out when the process ends. `process.stdout.write` is not used:
 * what it has queued is lost by `process.exit()`, it has no bound, and EPIPE becomes an 'error' event that kills the process.
 */
export class FileSink implements LogSink {
  readonly fd: number;
  /** Lines dropped since the last report of dropped lines. */
  dropped = 0;
  readonly #batchSize: number;
  /** Milliseconds, as `#patience`. */
  readonly #delay: number;
  readonly #maxPending: number;
  readonly #patience: number;
  /** Bytes of one write; 0 before the first. */
  #pieceSize = 0;
  #batch = "";
  /** The batch being written, from the first byte that is not out yet. */
  #unsent: Buffer | null = null;
  #scratch: Buffer | null = null;
  #scheduled = false;
  /** Milliseconds until the next try; 0 while the output accepts data. */
  #refusals = 0;
  #lastError: string | undefined = undefined;
  #closed = false;

  constructor(options?: FileSinkOptions) {
    const { fd, batchSize, delay = isatty(fd) ? 0 : 0.02, maxPending, patience } = fileSinkOptions.read([options]);
    this.fd = fd;
    this.#batchSize = batchSize;
    this.#delay = milliseconds(delay);
    this.#maxPending = maxPending;
    this.#patience = milliseconds(patience);
  }

  write(lines: string): void {
    if (this.#closed || this.pending + lines.length > this.#maxPending) {
      this.dropped++;
      return;
    }
    this.#batch += lines;
    if (this.#scheduled) {
      if (this.#refusals === 0 && this.#batch.length >= this.#batchSize) this.#drain();
    } else {
      this.#schedule(this.#delay);
    }
  }

  /** The approximate number of bytes that wait here. */
  get pending(): number {
    return this.#batch.length + (this.#unsent?.length ?? 0);
  }

  /** Writes as much as possible without waiting; false if something is left. */
  flush(): boolean {
    if (this.#drain() && this.dropped > 0 && !this.#closed) {
      this.#batch = droppedLine(this.dropped);
      this.dropped = 0;
      this.#drain();
    }
    if (this.pending === 0) waiting.delete(this);
    else this.#schedule(this.#delay);
    return this.pending === 0;
  }

  /** Writes everything and waits for a slow reader as long as it makes progress; false if it makes none. */
  flushSync(): boolean {
    let before = this.pending;
    let deadline = performance.now() + this.#patience;
    while (!this.flush()) {
      if (this.#lastError !== "EAGAIN") return false;
      if (this.pending < before) deadline = performance.now() + this.#patience;
      else if (performance.now() >= deadline) return false;
      before = this.pending;
      Atomics.wait(sleeper, 0, 0, 2);
    }
    return true;
  }

  /** True if everything has been written. */
  #drain(): boolean {
    for (;;) {
      if (!this.#unsent) {
        if (this.#batch === "") return true;
        this.#unsent = this.#encode(this.#batch);
        this.#batch = "";
        if (this.#pieceSize === 0) this.#prepare();
      }
      try {
        const unsent: Buffer = this.#unsent;
        const written = writeSync(this.fd, unsent, 0, pieceLength(unsent, this.#pieceSize));
        this.#unsent = written < unsent.length ? unsent.subarray(written) : null;
        this.#refusals = 0;
      } catch (error) {
        this.#refused((error as NodeJS.ErrnoException).code);
        return this.#closed;
      }
    }
  }

  /**
   * Encodes into the same memory each time, if it fits: half the time of a new buffer. The memory is free again when
   * all of it is written.
   */
  #encode(batch: string): Buffer {
    if (batch.length * 3 > scratchSize) return Buffer.from(batch, "utf8");
    this.#scratch ??= Buffer.allocUnsafeSlow(scratchSize);
    return this.#scratch.subarray(0, this.#scratch.write(batch, 0, "utf8"));
  }

  #prepare(): void {
    this.#pieceSize = isFifo(this.fd) ? atomicWrite : Number.POSITIVE_INFINITY;
    makeNonBlocking(this.fd);
  }

  #refused(code: string | undefined): void {
    this.#lastError = code;
    this.#refusals++;
    // A descriptor that was closed may be given to another file: nothing is written to its number again.
    if (code === "EBADF") {
      this.#closed = true;
      this.#batch = "";
      this.#unsent = null;
    }
  }

  #schedule(delay: number): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    flushAtExit(this);
    const wait = this.#refusals > 0 ? backoff(this.#refusals - 1, 10, 1000) : delay;
    if (wait === 0) setImmediate(wake, this).unref();
    else setTimeout(wake, wait, this).unref();
  }

  /** @internal */
  wake(): void {
    this.#scheduled = false;
    this.flush();
  }
}

/** The only sink of the process on standard output: two would mix up the order of lines. */
export function standardOutput(): FileSink {
  return (standard ??= new FileSink());
}

let standard: FileSink | undefined;

/** Linux writes this much to a pipe whole or not at all, so lines of workers that share one never tear (pipe(7)). */
const atomicWrite = 4096;

/** The number of bytes to write next: as many whole lines as fit into `limit`, at least one line. */
function pieceLength(bytes: Buffer, limit: number): number {
  if (bytes.length <= limit) return bytes.length;
  const end = bytes.lastIndexOf(lineFeed, limit - 1);
  if (end !== -1) return end + 1;
  return bytes.indexOf(lineFeed) + 1 || bytes.length;
}

const lineFeed = 0x0a;
const scratchSize = 64 * 1024;

function wake(sink: FileSink): void {
  sink.wake();
}

/** Sinks that hold lines. */
const waiting = new Set<FileSink>();
let hooked = false;

function flushAtExit(sink: FileSink): void {
  waiting.add(sink);
  if (hooked) return;
  hooked = true;
  process.on("exit", () => {
    for (const held of waiting) held.flushSync();
  });
}

function makeNonBlocking(fd: number): void {
  try {
    if (fd === 1) process.stdout;
    else if (fd === 2) process.stderr;
  } catch {
    // An odd descriptor that Node cannot wrap: it is written as it is.
  }
}

function isFifo(fd: number): boolean {
  try {
    return fstatSync(fd).isFIFO();
  } catch {
    return false;
  }
}

function droppedLine(count: number): string {
  return `{"time":"${new Date().toISOString()}","level":"warn","msg":"log lines were dropped: the output took nothing","dropped":${count}}\n`;
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));
