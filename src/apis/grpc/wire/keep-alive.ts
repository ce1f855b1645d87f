import type { Http2Session } from "node:http2";

/** In seconds: between two pings, 0 for none, and for the response to a ping. */
interface KeepAlive {
  readonly keepaliveInterval: number;
  readonly keepaliveTimeout: number;
}

/** Pings the other side while `isNeeded`. Without a response in time the connection is destroyed. */
export function keepAlive(session: Http2Session, settings: KeepAlive, isNeeded: () => boolean = () => true): void {
  const { keepaliveInterval, keepaliveTimeout } = settings;
  if (keepaliveInterval === 0) return;
  let late: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (!isNeeded() || late !== undefined) return;
    const sent = session.ping(() => {
      clearTimeout(late);
      late = undefined;
    });
    if (sent) late = setTimeout(() => session.destroy(), keepaliveTimeout * 1000).unref();
  }, keepaliveInterval * 1000).unref();
  session.once("close", () => {
    clearInterval(timer);
    clearTimeout(late);
  });
}
