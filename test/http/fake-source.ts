import { Request } from "../../src/http/request.js";
import type { RequestSource } from "../../src/http/source.js";

/** A request as a transport would make it, from its method, target and header fields. */
export function fakeSource(
  method = "GET",
  target = "/",
  fields: readonly (readonly [string, string])[] = [],
): RequestSource {
  const [path = "", ...rest] = target.split(/(?=\?)/);
  return {
    method,
    path,
    search: rest.join(""),
    remoteAddress: "127.0.0.1",
    secure: false,
    body: null,
    wantsWebSocket: false,
    header(name) {
      const values = fields.filter(([field]) => field.toLowerCase() === name).map(([, value]) => value);
      return values.length ? values.join(name === "cookie" ? "; " : ", ") : undefined;
    },
    headerLines: () => fields.flat(),
  };
}

export function fakeRequest(method: string, fields: Readonly<Record<string, string>> = {}): Request {
  return new Request(fakeSource(method, "/", Object.entries(fields)));
}
