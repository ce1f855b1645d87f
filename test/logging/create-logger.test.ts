import { describe, expect, it } from "vitest";
import { createLogger } from "../../src/logging/create-logger.js";
import type { LogLevel } from "../../src/logging/levels.js";
import { collect } from "./collect.js";

describe("createLogger", () => {
  it.each<[LogLevel, string[]]>([
    ["debug", ["debug", "info", "warn", "error"]],
    ["info", ["info", "warn", "error"]],
    ["warn", ["warn", "error"]],
    ["error", ["error"]],
    ["silent", []],
  ])("A logger at level %s writes %j", (level, expected) => {
    const sink = collect();
    const log = createLogger({ level, sink });
    log.debug("m");
    log.info("m");
    log.warn("m");
    log.error("m");
    expect(sink.lines.map((line) => JSON.parse(line).level)).toEqual(expected);
  });

  it("A logger writes info and above by default, as JSON if there is no terminal", () => {
    const sink = collect();
    const log = createLogger({ sink });
    log.debug("hidden");
    log.info("shown", { n: 1 });
    expect(sink.lines).toHaveLength(1);
    const { time, ...rest } = JSON.parse(sink.lines[0]!);
    expect(rest).toEqual({ level: "info", msg: "shown", n: 1 });
    expect(new Date(time).toISOString()).toBe(time);
  });

  it("A child logger adds its fields to each line, and the nearest value of a field counts", () => {
    const sink = collect();
    const child = createLogger({ sink }).child({ a: 1, b: 1 }).child({ b: 2, c: 2 });
    child.info("m", { c: 3 });
    child.info("m");
    expect(sink.lines.map((line) => JSON.parse(line))).toMatchObject([
      { a: 1, b: 2, c: 3 },
      { a: 1, b: 2, c: 2 },
    ]);
    expect(sink.lines[0]!.match(/"[bc]":/g)).toEqual(['"b":', '"c":']);
  });

  it("A logger does not read fields while the level is off", () => {
    const fields = {
      get costly(): string {
        throw new Error("looked at");
      },
    };
    const sink = collect();
    const log = createLogger({ level: "error", sink });
    log.child(fields).info("m", fields);
    expect(sink.text).toBe("");
  });

  it("A logger accepts an error in place of the message or of the fields", () => {
    const sink = collect();
    const log = createLogger({ sink }) as unknown as { error(...args: unknown[]): void };
    log.error(new TypeError("first"));
    log.error("second", new RangeError("inner"));
    log.error(undefined);
    const [first, second, third] = sink.lines.map((line) => JSON.parse(line));
    expect(first).toMatchObject({ msg: "first", error: { name: "TypeError", message: "first" } });
    expect(second).toMatchObject({ msg: "second", error: { name: "RangeError", message: "inner" } });
    expect(third.msg).toBe("undefined was thrown in place of an error");
  });

  it("A logger does not fail if its sink does", () => {
    const log = createLogger({
      sink: {
        write() {
          throw new Error("full");
        },
      },
    });
    expect(() => log.info("m")).not.toThrow();
  });

  it("A logger writes the pretty format if configured, without colours if there is no terminal", () => {
    const sink = collect();
    createLogger({ sink, format: "pretty" }).info("ready", { port: 8000 });
    expect(sink.text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO {2}ready port=8000\n$/);
  });

  it.each([
    [{ level: "loud" }, "option 'level' in createLogger() must be one of"],
    [{ format: "xml" }, "option 'format' in createLogger() must be one of"],
    [{ sink: {} }, "option 'sink' in createLogger() must be an object with a write method"],
    [{ levle: "info" }, "unknown option 'levle' in createLogger(); did you mean 'level'?"],
  ])("createLogger() refuses the options %j", (options, message) => {
    expect(() => createLogger(options as never)).toThrow(message);
  });
});
