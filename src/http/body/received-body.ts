import type { IncomingBody } from "../source.js";

/** A body all of which is in memory. Its length is known, so a limit is checked before it is read. */
export function receivedBody(bytes: Uint8Array): IncomingBody {
  return {
    length: bytes.length,
    received: bytes,
    read: async () => bytes,
    async *stream() {
      yield bytes;
    },
  };
}
