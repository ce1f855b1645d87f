import { once } from "node:events";
import { type REPLServer, start } from "node:repl";

/** JavaScript line by line, with top-level await, and with these names. Resolves when it is left and all lines have run. */
export async function openRepl(names: Readonly<Record<string, unknown>>): Promise<void> {
  const { stdin, stdout } = process;
  const session = start({
    prompt: stdin.isTTY ? "stoa> " : "",
    input: stdin,
    output: stdout,
    terminal: stdin.isTTY === true,
  });
  Object.assign(session.context, names);
  const ended = oneAfterTheOther(session);
  await once(session, "exit");
  await ended();
}

/** Lines of a pipe arrive all at once: each is run when the one before has ended. Returns a function that waits for all. */
function oneAfterTheOther(session: REPLServer): () => Promise<void> {
  const evaluate = session.eval;
  let last = Promise.resolve();
  const run: typeof evaluate = (line, context, file, done) => {
    last = last.then(
      () =>
        new Promise<void>((resolve) => {
          evaluate.call(session, line, context, file, (error, result) => {
            done(error, result);
            resolve();
          });
        }),
    );
  };
  Object.assign(session, { eval: run });
  return () => last;
}
