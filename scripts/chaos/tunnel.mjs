import { once } from "node:events";
import { connect, createServer } from "node:net";
import { freePort } from "../services/ports.mjs";

/** Milliseconds in which a response is complete once it has begun. */
const responseTime = 30;
/** Bytes that pass a limited tunnel at once. */
const packet = 1460;

/**
 * A way to a server that can be cut and mended, and that can fail as networks do:
 *
 * - `cut` breaks all connections and refuses new ones until `mend`.
 * - `stall` holds all bytes back until `flow`; then they arrive. `stall("responses")` and `stall("requests")` hold one way.
 * - `delay` lets each byte take that many milliseconds longer.
 * - `limit` lets that many bytes pass in a second, each way, over all connections; 0 ends it.
 * - `deafen` forwards requests and drops responses, until `mend` after a `cut`: work is done, and its client does not know.
 * - `orphan` breaks connections for the client only: the server does not learn that the client is gone.
 * - `mute` breaks connections for the server only: the client gets neither a response nor an error.
 * - `swallow` forwards the next request that a function accepts, and breaks its connection when the response has come: the
 *   client never sees it. Resolves then.
 *
 * `translate` makes a function for each connection, through which its responses pass.
 */
export async function startTunnel(targetPort, { host = "127.0.0.1", translate = () => (chunk) => chunk } = {}) {
  const pairs = new Set();
  const orphans = new Set();
  const muted = new Set();
  let server = null;
  const port = await freePort();
  /** The ways that are held back. */
  let stalled = new Set();
  let delay = 0;
  /** Bytes in a second, and when each way has sent what it was given. */
  let rate = Number.POSITIVE_INFINITY;
  const freeAt = { requests: 0, responses: 0 };
  let deaf = false;
  let swallowing = null;
  let responseBytes = 0;
  const swallow = (pair) => {
    const { resolve } = swallowing;
    swallowing = null;
    pair.deaf = true;
    // Responses to requests before it may come first.
    pair.target.once("data", () => {
      setTimeout(() => {
        pair.client.destroy();
        resolve();
      }, responseTime);
    });
  };

  const link = (client) => {
    const target = connect(targetPort, host);
    const pair = { client, target, whole: true, deaf: false };
    const translated = translate();
    pairs.add(pair);
    for (const [from, to, way] of [
      [client, target, "requests"],
      [target, client, "responses"],
    ]) {
      const later = lateCalls();
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("data", (bytes) => {
        const chunk = from === target ? translated(bytes) : bytes;
        if (from === target) responseBytes += chunk.length;
        if (!pair.whole || ((deaf || pair.deaf) && from === target)) return;
        if (from === client && swallowing?.accepts(chunk)) swallow(pair);
        if (rate < Number.POSITIVE_INFINITY) return trickle(chunk);
        later(delay, () => {
          if (!to.write(chunk)) from.pause();
        });
      });
      const trickle = (chunk) => {
        // The sender waits, as for a full buffer, until its bytes are under way.
        from.pause();
        for (let start = 0; start < chunk.length; start += packet) {
          const part = chunk.subarray(start, start + packet);
          freeAt[way] = Math.max(freeAt[way], performance.now()) + (part.length / rate) * 1000;
          later(freeAt[way] - performance.now() + delay, () => to.write(part));
        }
        later(freeAt[way] - performance.now() + delay, () => {
          if (!stalled.has(way)) from.resume();
        });
      };
      to.on("drain", () => {
        if (!stalled.has(way)) from.resume();
      });
      from.on("end", () => {
        if (pair.whole) later(delay, () => to.end());
      });
      from.on("close", () => {
        orphans.delete(from);
        muted.delete(from);
        if (!pair.whole) return;
        pairs.delete(pair);
        later(delay, () => to.destroy());
      });
      if (stalled.has(way)) from.pause();
    }
  };
  const listen = async () => {
    deaf = false;
    server = createServer(link);
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const cut = async () => {
    const closed = server && once(server, "close");
    server?.close();
    server = null;
    for (const { client, target } of pairs) {
      client.destroy();
      target.destroy();
    }
    for (const client of muted) client.destroy();
    await closed;
  };
  const split = (gone, stays, kept) => {
    for (const pair of pairs) {
      pair.whole = false;
      kept.add(pair[stays]);
      pair[gone].destroy();
      pair[stays].resume();
    }
    pairs.clear();
  };
  const hold = (ways) => {
    stalled = new Set(ways);
    for (const { client, target } of pairs) {
      stalled.has("requests") ? client.pause() : client.resume();
      stalled.has("responses") ? target.pause() : target.resume();
    }
  };
  await listen();
  return {
    port,
    /** How much the server has responded so far. */
    get responseBytes() {
      return responseBytes;
    },
    cut,
    mend: listen,
    async close() {
      await cut();
      for (const target of orphans) target.destroy();
    },
    stall: (...ways) => hold(ways.length > 0 ? ways : ["requests", "responses"]),
    flow: () => hold([]),
    delay(milliseconds) {
      delay = milliseconds;
    },
    limit(bytesPerSecond) {
      rate = bytesPerSecond || Number.POSITIVE_INFINITY;
    },
    deafen() {
      deaf = true;
    },
    orphan: () => split("client", "target", orphans),
    mute: () => split("target", "client", muted),
    swallow: (accepts) =>
      new Promise((resolve) => {
        swallowing = { accepts, resolve };
      }),
  };
}

/**
 * For `translate`: numbers in responses are replaced by others of the same length, as ports are by those of the tunnels to them.
 * A number at the end of a chunk waits for the next one, which may have the rest of it.
 */
export function translatesNumbers(numbers) {
  return () => {
    let left = "";
    return (chunk) => {
      const text = left + chunk.toString("latin1");
      left = /(?<!\w)\d*$/.exec(text)?.[0] ?? "";
      const whole = text.slice(0, text.length - left.length);
      return Buffer.from(
        whole.replaceAll(/(?<!\w)\d+(?!\w)/g, (number) => String(numbers.get(Number(number)) ?? number)),
        "latin1",
      );
    };
  };
}

/** Calls functions after a delay, in their order, also when the delay changes. */
function lateCalls() {
  const waiting = [];
  const run = () => {
    while (waiting.length > 0 && waiting[0].due <= performance.now()) waiting.shift().call();
    if (waiting.length > 0) setTimeout(run, waiting[0].due - performance.now());
  };
  return (delay, call) => {
    if (delay === 0 && waiting.length === 0) return call();
    waiting.push({ due: performance.now() + delay, call });
    if (waiting.length === 1) setTimeout(run, delay);
  };
}
