import { once } from "node:events";
import { createInterface } from "node:readline";
import { type REPLServer, Recoverable, start } from "node:repl";
import { PassThrough } from "node:stream";

/**
 * JavaScript with top-level await and with these names: for a person at a terminal, or the lines of a pipe one after the other.
 * Resolves to the exit code: 1 if a line of a pipe has failed.
 */
export async function openRepl(names: Readonly<Record<string, unknown>>): Promise<number> {
  if (!process.stdin.isTTY) return runLines(names);
  const session = start({ prompt: "stoa> " });
  Object.assign(session.context, names);
  await once(session, "exit");
  return 0;
}

/** The lines of a pipe arrive all at once: each is given to the session when it asks for it. */
async function runLines(names: Readonly<Record<string, unknown>>): Promise<number> {
  const input = new PassThrough();
  const session = start({ prompt: "", input, output: process.stdout, terminal: false });
  Object.assign(session.context, names);
  let isOver = false;
  let resume = (): void => {};
  const exit = once(session, "exit").then(() => {
    isOver = true;
    resume();
  });
  const line = watched(session, () => resume());
  let failed = false;
  for await (const text of createInterface({ input: process.stdin })) {
    const asked = new Promise<void>((resolve) => {
      resume = resolve;
    });
    input.write(`${text}\n`);
    await asked;
    failed ||= line.failed();
    if (isOver) break;
  }
  input.end();
  await exit;
  return failed ? 1 : 0;
}

/** Calls `onPrompt` each time that the session asks for a line. `failed` tells of the line before. */
function watched(session: REPLServer, onPrompt: () => void): { failed(): boolean } {
  const evaluate = session.eval;
  // An error that is thrown is shown without a call of `done`.
  let outcome: "begun" | "done" | "failed" = "done";
  const run: typeof evaluate = (code, context, file, done) => {
    outcome = "begun";
    evaluate.call(session, code, context, file, (error, result) => {
      outcome = error === null || error instanceof Recoverable ? "done" : "failed";
      done(error, result);
    });
  };
  Object.assign(session, { eval: run, displayPrompt: onPrompt });
  return { failed: () => outcome !== "done" };
}
