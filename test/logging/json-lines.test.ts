import { describe, expect, it } from "vitest";
import { jsonLine } from "../../src/logging/json-lines.js";
import { plainFields } from "../../src/logging/plain.js";
import { hostileText, unsafeCharacter } from "./hostile.js";

const time = Date.UTC(2026, 0, 31, 12, 30, 5, 7);

describe("jsonLine", () => {
  it("A JSON line begins with time, level and message", () => {
    expect(jsonLine(time, "warn", "slow", { ms: 12 })).toBe(
      '{"time":"2026-01-31T12:30:05.007Z","level":"warn","msg":"slow","ms":12}\n',
    );
    expect(jsonLine(time, "info", "m", null)).toBe('{"time":"2026-01-31T12:30:05.007Z","level":"info","msg":"m"}\n');
    expect(jsonLine(time, "info", "m", {})).toBe('{"time":"2026-01-31T12:30:05.007Z","level":"info","msg":"m"}\n');
  });

  it("A JSON line stays one line without control characters, whatever it contains", () => {
    const line = jsonLine(time, "info", hostileText, plainFields({ [hostileText]: [hostileText, { a: hostileText }] }));
    expect(line.endsWith("\n")).toBe(true);
    expect(line.slice(0, -1)).not.toMatch(unsafeCharacter);
    const parsed = JSON.parse(line);
    expect(parsed.msg).toBe(hostileText);
    expect(parsed[hostileText]).toEqual([hostileText, { a: hostileText }]);
  });

  it("A JSON line never has a name twice", () => {
    const line = jsonLine(time, "info", "m", { level: "forged", time: 0, msg: "forged", other: 1 });
    expect(JSON.parse(line)).toEqual({
      time: "2026-01-31T12:30:05.007Z",
      level: "info",
      msg: "m",
      level_: "forged",
      time_: 0,
      msg_: "forged",
      other: 1,
    });
  });

  it("A JSON line hides the password of a URL in the message", () => {
    expect(jsonLine(time, "info", "cannot reach postgres://app:hunter2@db/x", null)).toContain("app:[redacted]@db");
  });
});
