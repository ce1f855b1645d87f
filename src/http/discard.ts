/** A stream of Node, as far as it is used here. */
interface NodeStream {
  on(event: "error", listener: () => void): unknown;
  listenerCount(event: "error"): number;
  destroy(): unknown;
}

/** Ends the stream of a body that will not be sent. */
export function discardBody(response: { readonly body: unknown }): void {
  discardStream(response.body);
}

/** Ends a stream that will not be read. Its errors are ignored. */
export function discardStream(stream: unknown): void {
  if (typeof stream !== "object" || stream === null || !(Symbol.asyncIterator in stream)) return;
  try {
    if (!endNodeStream(stream)) stopIterator((stream as AsyncIterable<unknown>)[Symbol.asyncIterator]());
  } catch {
    // A body that cannot be iterated has nothing to stop.
  }
}

/**
 * Ends a stream of Node; false for anything else. Its iterator is a generator, whose `return` leaves the stream open before
 * the first read, and waits for a read that is under way.
 */
export function endNodeStream(stream: object): boolean {
  if (!isNodeStream(stream)) return false;
  takeErrors(stream);
  stream.destroy();
  return true;
}

/** Ends a stream that was found in a value without JSON, unless other code uses it, such as the socket of a client. */
export function discardLoose(value: object): void {
  if (isNodeStream(value) && value.listenerCount("error") === 0) endNodeStream(value);
}

/**
 * Takes the errors of a stream of Node, which would be uncaught exceptions before it is read. Its reader gets
 * them all the same.
 */
export function takeErrors(stream: object): void {
  if (isNodeStream(stream)) stream.on("error", ignore);
}

/** Ends an iteration early. Errors of an abandoned body are ignored. */
export function stopIterator(iterator: AsyncIterator<unknown>): void {
  try {
    iterator.return?.()?.then(undefined, ignore);
  } catch {
    // Thrown by `return` itself.
  }
}

function isNodeStream(value: object): value is NodeStream {
  const { on, listenerCount, destroy } = value as Partial<NodeStream>;
  return typeof on === "function" && typeof listenerCount === "function" && typeof destroy === "function";
}

function ignore(): void {}
