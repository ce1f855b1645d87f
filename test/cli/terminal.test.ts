import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createTerminal } from "../../src/cli/terminal.js";

function streams(isTTY: boolean) {
  const make = (): PassThrough & { isTTY: boolean } => Object.assign(new PassThrough(), { isTTY });
  const all = { stdin: make(), stdout: make(), stderr: make() };
  return { ...all, terminal: createTerminal(all, new AbortController().signal) };
}

describe("the terminal", () => {
  it("keeps the result apart from what is told on the way", () => {
    const { terminal, stdout, stderr } = streams(true);
    terminal.print("result");
    terminal.note("progress");
    expect(String(stdout.read())).toBe("result\n");
    expect(String(stderr.read())).toBe("progress\n");
  });

  it("has somebody to ask only when both ends are a terminal", () => {
    expect(streams(true).terminal.interactive).toBe(true);
    expect(streams(false).terminal.interactive).toBe(false);
  });

  it("does not wait for ever for somebody who has left", async () => {
    const { terminal, stdin } = streams(true);
    const answer = terminal.ask("how many?", Number);
    stdin.end();
    await expect(answer).rejects.toThrow("the question was not answered");
  });

  it("asks again until the answer is one, and says why", async () => {
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
