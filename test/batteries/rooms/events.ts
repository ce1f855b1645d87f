import { onTestFinished } from "vitest";

export interface Event {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** An event stream, as a client reads it. It is left when the test has finished. */
export class Events {
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #leave: AbortController;
  #text = "";

  constructor(reader: ReadableStreamDefaultReader<string>, leave: AbortController) {
    this.#reader = reader;
    this.#leave = leave;
  }

  static async open(url: string, lastId?: string, fields: Record<string, string> = {}): Promise<Events> {
    const leave = new AbortController();
    const headers: Record<string, string> = lastId === undefined ? fields : { ...fields, "Last-Event-ID": lastId };
    const response = await fetch(url, { signal: leave.signal, headers });
    if (response.status !== 200) throw new Error(`the stream has the status ${response.status}`);
    onTestFinished(() => leave.abort());
    return new Events(response.body!.pipeThrough(new TextDecoderStream()).getReader(), leave);
  }

  /** The next event; null when the server has ended the stream. */
  async next(): Promise<Event | null> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end < 0) {
        const { done, value } = await this.#reader.read();
        if (done) return null;
        this.#text += value;
        continue;
      }
      const lines = this.#text.slice(0, end).split("\n");
      this.#text = this.#text.slice(end + 2);
      const field = (name: string): string =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
      if (lines.some((line) => !line.startsWith(":"))) {
        return { id: field("id"), event: field("event"), data: field("data") };
      }
    }
  }

  /** The data of the next events. */
  async take(count: number): Promise<string[]> {
    const all: string[] = [];
    while (all.length < count) all.push((await this.next())?.data ?? "the stream has ended");
    return all;
  }

  leave(): void {
    this.#leave.abort();
  }
}
