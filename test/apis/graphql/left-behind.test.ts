import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Program, patient } from "../../server/process/program.js";

describe("promises that execution leaves behind", patient, () => {
  it("A promise that is rejected beside a failing field, or that the client did not ask for, does not end the process", async () => {
    const program = new Program({ file: fileURLToPath(new URL("./fixtures/left-behind.ts", import.meta.url)) });
    const exit = await program.exited;
    expect({ ...exit, stderr: program.stderr }).toEqual({ code: 0, signal: null, stderr: "" });
    const lines = program.stdout.trim().split("\n");
    expect(lines).toHaveLength(23);
    expect(lines.filter((line) => line.endsWith(" 0"))).toEqual(lines.slice(16));
  });
});
