import type { LogSink } from "../../src/logging/sink.js";

/** A sink that keeps what it is given. */
export function collect(): LogSink & { readonly text: string; readonly lines: string[] } {
  let text = "";
  return {
    write(lines) {
      text += lines;
    },
    get text() {
      return text;
    },
    get lines() {
      return text.split("\n").slice(0, -1);
    },
  };
}
