/** The events of a live page, as they come. */
export interface LiveEvents extends AsyncDisposable {
  /** The next event of a name; others are passed over. */
  next(name: string): Promise<Record<string, unknown>>;
  /** When the server ends them. */
  readonly ended: Promise<void>;
}

export async function readEvents(url: string): Promise<LiveEvents> {
  const leave = new AbortController();
  const response = await fetch(`${url}/_stoa/events`, { signal: leave.signal });
  if (response.status !== 200) throw new Error(`the events answered ${response.status}`);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const take = (): { event: string; data: string } | undefined => {
    const end = text.indexOf("\n\n");
    if (end === -1) return undefined;
    const lines = text.slice(0, end).split("\n");
    text = text.slice(end + 2);
    const field = (name: string): string =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
    return { event: field("event"), data: field("data") };
  };
  return {
    async next(name) {
      for (;;) {
        const found = take();
        if (found?.event === name) return JSON.parse(found.data);
        if (found) continue;
        const { done, value } = await reader.read();
        if (done) throw new Error(`the events ended without '${name}'`);
        text += value;
      }
    },
    get ended() {
      return (async () => {
        while (!(await reader.read()).done);
      })();
    },
    [Symbol.asyncDispose]: async () => leave.abort(),
  };
}
