import type { ChildProcess } from "node:child_process";

/** The address that a program prints when it serves. Rejects with its output if it exits before. */
export function printedUrl(program: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (chunk: Buffer): void => {
      text += chunk;
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
      if (url !== undefined) resolve(url);
    };
    program.stdout?.on("data", read);
    program.stderr?.on("data", read);
    program.on("exit", () => reject(new Error(text)));
  });
}
