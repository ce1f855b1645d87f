import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import { ValueError } from "../kit/value-error.js";

/** The input and the output of a command. */
export interface Terminal {
  /** A line of the result, to standard output. */
  print(text: string): void;
  /** A line about the progress, to standard error. */
  note(text: string): void;
  /** True if a person can answer questions. */
  readonly interactive: boolean;
  /** Asks until `read` accepts the answer: it returns the value, or throws an error that says what is wrong. */
  ask<T>(question: string, read: (answer: string) => T): Promise<T>;
}

export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

export function createTerminal({ stdin, stdout, stderr }: Streams, signal: AbortSignal): Terminal {
  return {
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    async ask(question, read) {
      const lines = createInterface({ input: stdin, output: stderr });
      // Ctrl+C and Ctrl+D would otherwise leave the question open.
      const left = new AbortController();
      for (const event of ["SIGINT", "close"]) lines.once(event, () => left.abort());
      const either = AbortSignal.any([signal, left.signal]);
      try {
        for (;;) {
          const answer = await lines.question(`${question} `, { signal: either }).catch(() => {
            throw new ValueError("the question was not answered");
          });
          try {
            return read(answer.trim());
          } catch (error) {
            stderr.write(`${(error as Error).message}\n`);
          }
        }
      } finally {
        lines.close();
      }
    },
  };
}
