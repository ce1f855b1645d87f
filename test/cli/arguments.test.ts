import { describe, expect, it } from "vitest";
import { type OptionSpecs, parseArguments } from "../../src/cli/arguments.js";
import { ValueError } from "../../src/kit/value-error.js";

const specs = {
  name: { kind: "text", value: "NAME", help: "" },
  models: { kind: "list", value: "FILE", help: "" },
  steps: { kind: "number", help: "" },
  dryRun: { kind: "switch", help: "" },
  yes: { kind: "switch", short: "y", help: "" },
  input: { kind: "switch", on: true, help: "" },
} as const satisfies OptionSpecs;

const parse = (...given: string[]) => parseArguments("stoa make", given, specs);

describe("the arguments of a command", () => {
  it("Arguments are parsed as options in both forms, and the rest", () => {
    expect(parse("one", "--name", "first", "--dry-run", "two", "--steps=3", "-y")).toEqual({
      options: { name: "first", dryRun: true, steps: 3, yes: true },
      args: ["one", "two"],
    });
  });

  it("Lists can be repeated, and switches negated", () => {
    expect(parse("--models", "a.ts", "--models=b.ts", "--no-input", "--yes=false").options).toEqual({
      models: ["a.ts", "b.ts"],
      input: false,
      yes: false,
    });
  });

  it("Arguments after two dashes are not options", () => {
    expect(parse("--", "--name", "-y")).toEqual({ options: {}, args: ["--name", "-y"] });
  });

  it("Values can be empty, contain equal signs, or begin with a dash and a number", () => {
    expect(parse("--name=").options).toEqual({ name: "" });
    expect(parse("--name=a=b").options).toEqual({ name: "a=b" });
    expect(parse("--name", "-1").options).toEqual({ name: "-1" });
  });

  it.each([
    [["--nmae", "x"], "unknown option '--nmae' of stoa make; did you mean '--name'?"],
    [["--dryRun"], "unknown option '--dryRun' of stoa make; did you mean '--dry-run'?"],
    [["--no-name"], "unknown option '--no-name' of stoa make; did you mean '--name'?"],
    [["--database=postgres://me:secret@host/db"], "unknown option '--database' of stoa make"],
    [["-x"], "unknown option '-x' of stoa make"],
    [["--name"], "--name needs a value: --name NAME"],
    [["--name", "--yes"], "--name needs a value: --name NAME"],
    [["--name", "a", "--name", "b"], "--name is given twice"],
    [["--steps", "two"], '--steps must be a whole number, not "two"'],
    [["--steps", "-1"], '--steps must be a whole number, not "-1"'],
    [["--yes=maybe"], '--yes must be true or false, not "maybe"'],
    [["--constructor"], "unknown option '--constructor' of stoa make"],
  ])("Wrong arguments are refused by name: %j", (given, message) => {
    expect(() => parse(...given)).toThrow(new ValueError(message));
  });
});
