import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FileSink, type FileSinkOptions } from "../../src/logging/sink.js";
import { compiled } from "../support/compiled.js";

let folder: string;
const opened: number[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stoa-sink-"));
});

afterEach(() => {
  vi.useRealTimers();
  for (const fd of opened.splice(0)) closeSync(fd);
  rmSync(folder, { recursive: true });
});

function open(path: string, flags: number): number {
  const fd = openSync(path, flags, 0o600);
  opened.push(fd);
  return fd;
}

function fileSink(options: FileSinkOptions = {}): { sink: FileSink; content: () => string } {
  const path = join(folder, "log");
  const fd = open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND);
  return { sink: new FileSink({ fd, ...options }), content: () => readFileSync(path, "utf8") };
}

/** A pipe, its reading end held open by us, neither end blocking. */
function pipe(): { path: string; reader: number; writer: number } {
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const reader = open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { path, reader, writer: open(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

function readAll(fd: number): string {
  const chunk = Buffer.alloc(64 * 1024);
  let text = "";
  for (;;) {
    let size: number;
    try {
      size = readSync(fd, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return text;
      throw error;
    }
    if (size === 0) return text;
    text += chunk.toString("latin1", 0, size);
  }
}

const line = (index: number): string => `line ${index} ${"x".repeat(90)}\n`;

describe("FileSink", () => {
  it("The file sink collects lines and writes them together after the delay", () => {
    vi.useFakeTimers();
    const { sink, content } = fileSink({ delay: "20ms" });
    sink.write("one\n");
    vi.advanceTimersByTime(19);
    sink.write("two\n");
    expect(content()).toBe("");
    vi.advanceTimersByTime(1);
    expect(content()).toBe("one\ntwo\n");
    expect(sink.pending).toBe(0);
  });

  it("The file sink writes a full batch at once", () => {
    const { sink, content } = fileSink({ batchSize: 100, delay: "1m" });
    sink.write("a\n");
    expect(content()).toBe("");
    sink.write(line(1));
    expect(content()).toBe(`a\n${line(1)}`);
  });

  it("The file sink writes at the end of the turn if the delay is 0", async () => {
    const { sink, content } = fileSink({ delay: 0 });
    sink.write("now\n");
    expect(content()).toBe("");
    await vi.waitFor(() => expect(content()).toBe("now\n"));
  });

  it("The file sink writes its lines on flush()", () => {
    const { sink, content } = fileSink({ delay: "1m" });
    sink.write("é→𝄞\n");
    expect(sink.flush()).toBe(true);
    expect(content()).toBe("é→𝄞\n");
  });

  it("The file sink keeps what a full pipe does not accept, in order, with whole lines on either side", () => {
    const { reader, writer } = pipe();
    const sink = new FileSink({ fd: writer, delay: "1m" });
    const lines = Array.from({ length: 3000 }, (_, index) => line(index));
    for (const text of lines) sink.write(text);
    expect(sink.flush()).toBe(false);
    const first = readAll(reader);
    expect(first.length).toBeGreaterThan(0);
    expect(first.endsWith("\n")).toBe(true);
    let rest = "";
    while (sink.pending > 0) {
      sink.flush();
      rest += readAll(reader);
    }
    expect(first + rest).toBe(lines.join(""));
  });

  it("The file sink limits what it keeps, counts dropped lines, and reports them when the output accepts lines again", () => {
    const { reader, writer } = pipe();
    const sink = new FileSink({ fd: writer, delay: "1m", maxPending: 100_000 });
    for (let i = 0; i < 5000; i++) sink.write(line(i));
    expect(sink.pending).toBeLessThanOrEqual(100_000);
    const dropped = sink.dropped;
    expect(dropped).toBeGreaterThan(0);
    let text = "";
    for (let i = 0; i < 10; i++) {
      text += readAll(reader);
      sink.flush();
    }
    const lines = text.trimEnd().split("\n");
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ level: "warn", dropped });
    expect(lines.length - 1 + dropped).toBe(5000);
    expect(sink.dropped).toBe(0);
  });

  it("The file sink retries a stuck output by itself", () => {
    vi.useFakeTimers();
    const { reader, writer } = pipe();
    const sink = new FileSink({ fd: writer });
    for (let i = 0; i < 1000; i++) sink.write(line(i));
    expect(sink.pending).toBeGreaterThan(0);
    let text = "";
    for (let i = 0; i < 10; i++) {
      text += readAll(reader);
      vi.advanceTimersByTime(2000);
    }
    expect(sink.pending).toBe(0);
    expect(text.endsWith(line(999))).toBe(true);
  });

  it("The file sink survives a reader that disappears, and serves the next one", () => {
    const { path, reader, writer } = pipe();
    const sink = new FileSink({ fd: writer, delay: "1m" });
    closeSync(reader);
    opened.splice(opened.indexOf(reader), 1);
    sink.write("kept\n");
    expect(sink.flush()).toBe(false);
    expect(sink.flushSync()).toBe(false);
    const next = open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    expect(sink.flush()).toBe(true);
    expect(readAll(next)).toBe("kept\n");
  });

  it("The file sink writes nothing to a closed descriptor, because its number may be another file's", () => {
    const fd = openSync(join(folder, "gone"), "w");
    const sink = new FileSink({ fd, delay: "1m" });
    closeSync(fd);
    sink.write("lost\n");
    expect(sink.flush()).toBe(true);
    expect(sink.pending).toBe(0);
    opened.push(openSync(join(folder, "other"), "w"));
    sink.write("lost too\n");
    sink.flush();
    expect(readFileSync(join(folder, "other"), "utf8")).toBe("");
    expect(sink.dropped).toBe(1);
  });

  it("The file sink gives up a stuck reader after its patience", () => {
    const { reader, writer } = pipe();
    const sink = new FileSink({ fd: writer, delay: "1m", patience: "20ms" });
    for (let i = 0; i < 1200; i++) sink.write(line(i));
    expect(sink.flushSync()).toBe(false);
    expect(sink.pending).toBeGreaterThan(0);
    readAll(reader);
    sink.flush();
    readAll(reader);
    expect(sink.flushSync()).toBe(true);
  });
});

describe("FileSink on standard output of a process", () => {
  const fixture = fileURLToPath(new URL("fixtures/log-and-end.ts", import.meta.url));

  function start(...args: string[]) {
    return spawn(process.execPath, [compiled(fixture), ...args], { stdio: ["ignore", "pipe", "pipe"] });
  }

  it.each(["exit", "throw", "end"])("No line is lost if the process ends by: %s", async (ending) => {
    const child = start(ending);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.stderr.resume();
    await once(child, "close");
    const lines = output.trimEnd().split("\n");
    expect(lines).toHaveLength(1000);
    expect(lines.at(-1)).toMatch(/^line 999 x+$/);
  });

  it("The process can end although nobody reads its output", async () => {
    const child = start("exit", "20000");
    child.stderr.resume();
    // stdout stays paused: the pipe fills up.
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
    child.stdout.destroy();
  });

  it("The process continues although the reader of its output has gone", async () => {
    const child = start("end", "20000");
    child.stdout.destroy();
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    const [code] = await once(child, "close");
    expect(errors).toBe("written\n");
    expect(code).toBe(0);
  });
});
