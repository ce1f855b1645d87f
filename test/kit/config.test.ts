import { inspect } from "node:util";
import { describe, expect, expectTypeOf, it } from "vitest";
import { config, option, options } from "../../src/kit/config.js";
import { is } from "../../src/kit/options.js";
import { ValueError } from "../../src/kit/value-error.js";

class MailConfig extends config(
  "MailConfig",
  {
    url: option.secret(is.text),
    poolSize: option(is.integer(1, 10), 2),
    sendTimeout: option.duration("10s", "1ms", "1m"),
    slowMs: option.milliseconds(500),
    idle: option.duration(null),
    from: option.required(is.text),
    tags: option.made(is.strings, (tags) => new Set(tags), new Set<string>()),
  },
  {
    order: ["from", "poolSize"],
    refine({ poolSize, slowMs }, given) {
      if (poolSize > 5 && given.slowMs === undefined) return { slowMs: slowMs * 2 };
      if (poolSize === 4) throw new ValueError("option 'poolSize' in MailConfig cannot be 4");
      return undefined;
    },
  },
) {
  get isLarge(): boolean {
    return this.poolSize > 5;
  }
}

const make = (given: unknown): MailConfig => new MailConfig(given as never);

describe("config classes", () => {
  it("A config has the defaults, durations as numbers, and both spellings", () => {
    const mail = new MailConfig({ from: "a@b", send_timeout: "2s", slowMs: 20 });
    expect({ ...mail }).toEqual({
      poolSize: 2,
      sendTimeout: 2,
      slowMs: 20,
      idle: undefined,
      from: "a@b",
      tags: new Set(),
    });
    expect([mail.send_timeout, mail.pool_size, mail.slow_ms, mail.isLarge]).toEqual([2, 2, 20, false]);
    expectTypeOf(mail.sendTimeout).toEqualTypeOf<number>();
    expectTypeOf(mail.idle).toEqualTypeOf<number | undefined>();
    expectTypeOf(mail.tags).toEqualTypeOf<Set<string>>();
    expectTypeOf(mail.pool_size).toEqualTypeOf<number>();
  });

  it("A config takes the positional arguments of the contract, and null for those to leave out", () => {
    expect(new MailConfig("a@b", 3).poolSize).toBe(3);
    expect(new MailConfig("a@b", null).poolSize).toBe(2);
    expect(() => MailConfig.from(["a@b", 3, 4])).toThrow("MailConfig takes at most 2 arguments: from, poolSize");
  });

  it("Text is a duration in every unit, also for a name that ends in Ms", () => {
    expect(new MailConfig({ from: "x", slowMs: "2s" }).slowMs).toBe(2000);
    expect(new MailConfig({ from: "x", sendTimeout: "250ms" }).sendTimeout).toBe(0.25);
  });

  it.each([
    [{ from: "x", poolSize: 11 }, "option 'poolSize' in MailConfig must be an integer from 1 to 10, not 11"],
    [{ from: "x", pool_siz: 1 }, "unknown option 'pool_siz' in MailConfig; did you mean 'pool_size'?"],
    [
      { from: "x", sendTimeout: "2h" },
      "option 'sendTimeout' in MailConfig must be a duration from 1ms to 1m, not \"2h\"",
    ],
    [{ from: "x", slowMs: -1 }, "option 'slowMs' in MailConfig must be a duration of at least 0, not -1"],
    [
      { from: "x", slowMs: "fast" },
      "option 'slowMs' in MailConfig must be a duration: milliseconds as a number, " +
        'or text such as "250ms", "3s", "5m", "2h" or "1d", not "fast"',
    ],
    [{ from: "x", url: 5 }, "option 'url' in MailConfig must be a non-empty string"],
    [{ from: "x", poolSize: 1, pool_size: 2 }, "option 'pool_size' in MailConfig is given in both spellings"],
    [{ poolSize: 1 }, "option 'from' is required in MailConfig"],
    [{ from: "x", poolSize: 4 }, "option 'poolSize' in MailConfig cannot be 4"],
  ])("%j is refused", (given, message) => {
    expect(() => make(given)).toThrow(new ValueError(message));
  });

  it("Settings that depend on others come from refine", () => {
    expect(new MailConfig({ from: "x", poolSize: 6 }).slowMs).toBe(1000);
    expect(new MailConfig({ from: "x", poolSize: 6, slowMs: 1 }).slowMs).toBe(1);
  });

  it("A secret can be read and is not shown", () => {
    const mail = new MailConfig({ from: "x", url: "smtp://user:secret@host" });
    expect(mail.url).toBe("smtp://user:secret@host");
    expect(inspect(mail)).not.toContain("secret");
    expect(() => make({ from: "x", url: ["secret"] })).toThrow(/must be a non-empty string$/);
  });

  it("from() returns a config as it is, and makes one of other arguments", () => {
    const mail = new MailConfig("x");
    expect(MailConfig.from([mail])).toBe(mail);
    expect(MailConfig.from(["y", 5])).toMatchObject({ from: "y", poolSize: 5 });
    expectTypeOf(MailConfig.from(["y"])).toEqualTypeOf<MailConfig>();
  });

  it("Settings cannot be changed", () => {
    const mail = new MailConfig("x") as { poolSize: number };
    expect(() => (mail.poolSize = 3)).toThrow(TypeError);
  });
});

describe("options of a call", () => {
  const call = options("enableMail()", { retries: option(is.integer(0), 3), quiet: option(is.boolean) });

  it("Options that are not given have their default, or are undefined", () => {
    expect(call.read([])).toEqual({ retries: 3, quiet: undefined });
    expect(call.read([null])).toEqual({ retries: 3, quiet: undefined });
    expect(call.readGiven([{ quiet: true }])).toEqual({ quiet: true });
  });

  it("A call without positional arguments takes an object only", () => {
    expect(() => call.read([3])).toThrow(
      "enableMail() takes an object of options, not 3; its options are retries, quiet",
    );
    expect(() => call.read([[]])).toThrow("enableMail() takes an object of options, not []");
  });

  it("An object of a class has its own options and those that it inherits", () => {
    class Settings {
      retries = 7;
      get quiet(): boolean {
        return true;
      }
      other(): void {}
    }
    expect(call.read([new Settings()])).toEqual({ retries: 7, quiet: true });
    expect(call.read([Object.create({ retries: 5 })])).toEqual({ retries: 5, quiet: undefined });
    const snake = options("read()", { maxWait: option(is.integer(0)) });
    expect(snake.read([Object.create({ max_wait: 2 })])).toEqual({ maxWait: 2 });
    class Wrong {
      get retries(): number {
        return -1;
      }
    }
    expect(() => call.read([new Wrong()])).toThrow("option 'retries' in enableMail()");
  });

  it.each([
    [Promise.resolve({ retries: 1 }), "not an object (Promise): is an await missing?"],
    [new Map([["retries", 1]]), "not an object (Map); its options are retries, quiet"],
    [new Date(), "not an object (Date)"],
    [new Error("no"), "not an object (Error)"],
    [Object.assign(new Error("no"), { retries: 1 }), "not an object (Error)"],
    [new (class Mail {})(), "not an object (Mail)"],
  ])("An object without any option is refused: %s", (given, expected) => {
    expect(() => call.read([given])).toThrow(`enableMail() takes an object of options, ${expected}`);
  });

  it("A bound is an integer or Infinity, a signal has what signals have, and a record is no Map", () => {
    const made = options("f()", { most: option(is.limit(1)), signal: option(is.signal), headers: option(is.record) });
    const { signal } = new AbortController();
    expect(made.readGiven([{ most: Infinity, signal, headers: {} }])).toEqual({ most: Infinity, signal, headers: {} });
    for (const most of [0, 1.5, -Infinity, Number.NaN, "2"]) {
      expect(() => made.read([{ most }])).toThrow("option 'most' in f() must be an integer of at least 1, or Infinity");
    }
    expect(() => made.read([{ signal: new AbortController() }])).toThrow(
      "must be an AbortSignal: write controller.signal",
    );
    expect(() => made.read([{ signal: {} }])).toThrow("option 'signal' in f() must be an AbortSignal, not");
    for (const headers of [new Map(), new Headers(), ["a"]]) {
      expect(() => made.read([{ headers }])).toThrow("must be an object of names and values");
    }
  });
});
