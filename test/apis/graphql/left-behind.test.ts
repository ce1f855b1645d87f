import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Program, patient } from "../../server/process/program.js";

describe("promises that execution leaves behind", patient, () => {
  it("A promise that is rejected beside a failing field, item or type does not end the process", async () => {
    const program = new Program({ file: fileURLToPath(new URL("./fixtures/left-behind.ts", import.meta.url)) });
    const exit = await program.exited;
    expect({ ...exit, stderr: program.stderr }).toEqual({ code: 0, signal: null, stderr: "" });
    expect(program.stdout.trim().split("\n")).toHaveLength(13);
    expect(program.stdout).not.toContain(" 0\n");
  });
});
