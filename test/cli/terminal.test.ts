import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createTerminal } from "../../src/cli/terminal.js";

function streams(isTTY: boolean) {
  const make = (): PassThrough & { isTTY: boolean } => Object.assign(new PassThrough(), { isTTY });
  const all = { stdin: make(), stdout: make(), stderr: make() };
  return { ...all, terminal: createTerminal(all, new AbortController().signal) };
}

describe("the terminal", () => {
  it("The terminal separates results from progress", () => {
    const { terminal, stdout, stderr } = streams(true);
    terminal.print("result");
    terminal.note("progress");
    expect(String(stdout.read())).toBe("result\n");
    expect(String(stderr.read())).toBe("progress\n");
  });

  it("The terminal is interactive only if both ends are a terminal", () => {
    expect(streams(true).terminal.interactive).toBe(true);
    expect(streams(false).terminal.interactive).toBe(false);
  });

  it("A question ends if the input is closed", async () => {
    const { terminal, stdin } = streams(true);
    const answer = terminal.ask("how many?", Number);
    stdin.end();
    await expect(answer).rejects.toThrow("the question was not answered");
  });

  it("A question is repeated with the reason until the answer is valid", async () => {
    const { terminal, stdin, stderr } = streams(true);
    const answer = terminal.ask("how many?", (text) => {
      if (!/^\d+$/.test(text)) throw new Error("a number, please");
      return Number(text);
    });
    stdin.write("many\n");
    await new Promise<void>((seen) => {
      let text = "";
      stderr.on("data", (chunk: Buffer) => {
        text += String(chunk);
        if (text.includes("a number, please")) seen();
      });
    });
    stdin.write(" 3 \n");
    expect(await answer).toBe(3);
  });
});
