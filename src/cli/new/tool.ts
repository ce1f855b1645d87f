import { spawn } from "node:child_process";
import type { CommandCall } from "../command.js";

/** Runs a program of the system to its end. A program that does not exist has the code 127. */
export function runTool(
  command: string,
  args: readonly string[],
  { cwd, env, signal }: Pick<CommandCall, "cwd" | "env" | "signal">,
): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    // On Windows npm is a script, which only a shell can start. The arguments are ours.
    const shell = process.platform === "win32";
    const child = spawn(command, args, { cwd, env, signal, shell, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", ({ message }) => resolve({ code: 127, output: message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
