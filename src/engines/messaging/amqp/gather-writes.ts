/** The part of a socket that is used here. */
interface Stream {
  write(...args: unknown[]): boolean;
  cork(): void;
  uncork(): void;
}

/**
 * Sends everything that is written to a connection in one turn of the event loop with one call to the system. The client
 * library writes each message and each acknowledgement on its own, which costs a third of the CPU time of small messages. It has
 * no option for that, and its socket is no part of its interface: one without it is left as it is.
 */
export function gatherWrites(model: object): void {
  const stream = (model as { connection?: { stream?: Partial<Stream> } }).connection?.stream;
  if (!isStream(stream)) return;
  const write = stream.write.bind(stream);
  let corked = false;
  const uncork = () => {
    corked = false;
    stream.uncork();
  };
  stream.write = (...args) => {
    if (!corked) {
      corked = true;
      stream.cork();
      process.nextTick(uncork);
    }
    return write(...args);
  };
}

function isStream(stream: Partial<Stream> | undefined): stream is Stream {
  return [stream?.write, stream?.cork, stream?.uncork].every((member) => typeof member === "function");
}
