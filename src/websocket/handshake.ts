import { type HttpError, httpError } from "../errors/http-error.js";
import { isToken } from "../http/fields/headers.js";
import { isSameHost } from "../http/peer/host-name.js";
import type { Request } from "../http/request.js";
import { isPromise } from "../kit/is-promise.js";
import { ValueError } from "../kit/value-error.js";
import { normalized, type Origins, type SocketSettings } from "./options.js";

/** 16 bytes in base64: of the last character before the padding only two bits count. */
const keyPattern = /^[+/0-9A-Za-z]{21}[AQgw]==$/;

/**
 * Checks an opening handshake (RFC 6455 section 4.2.1) and returns the header fields for `ws`. Not all of them: `ws`
 * also accepts the draft version 8, and chooses a subprotocol that the route does not name.
 */
export function checkHandshake(request: Request, settings: SocketSettings): Record<string, string> {
  const { source } = request;
  if (!source.wantsWebSocket) throw upgradeRequired();
  if (source.header("sec-websocket-version") !== "13") {
    throw upgradeRequired("Only version 13 of the WebSocket protocol is supported.");
  }
  // HTTP/2 has no key (RFC 8441 section 5).
  const isHttp2 = source.httpVersion === "2";
  const key = isHttp2 ? "" : source.header("sec-websocket-key");
  if (key === undefined || (!isHttp2 && !keyPattern.test(key))) {
    throw httpError("BAD_REQUEST", "Sec-WebSocket-Key is not valid.");
  }
  if (source.body !== null) throw httpError("BAD_REQUEST", "A request to speak WebSocket has no body.");
  if (!isOriginAllowed(request, settings.origins)) throw httpError("ORIGIN_NOT_ALLOWED");
  const fields: Record<string, string> = {
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": key,
  };
  const protocol = chooseProtocol(source.header("sec-websocket-protocol"), settings.protocols);
  if (protocol !== undefined) fields["sec-websocket-protocol"] = protocol;
  // Extensions are a matter of `ws`, which knows HTTP/1.1 alone.
  const extensions = settings.compression && !isHttp2 ? source.header("sec-websocket-extensions") : undefined;
  if (extensions !== undefined) fields["sec-websocket-extensions"] = extensions;
  return fields;
}

/** RFC 9110 section 15.5.22: the response names the protocol to upgrade to. */
function upgradeRequired(detail?: string): HttpError {
  return httpError("UPGRADE_REQUIRED", detail, {
    headers: { Upgrade: "websocket", Connection: "Upgrade", "Sec-WebSocket-Version": "13" },
  });
}

/**
 * The first protocol of the client's that the server knows. If there is none, none is chosen, which the client may
 * refuse.
 */
function chooseProtocol(offered: string | undefined, known: readonly string[]): string | undefined {
  if (offered === undefined) return undefined;
  const names = offered.split(",").map((name) => name.trim());
  if (!names.every(isToken)) throw httpError("BAD_REQUEST", "Sec-WebSocket-Protocol is not valid.");
  return names.find((name) => known.includes(name));
}

/** A browser sends Origin and no page can change it. CORS does not cover WebSockets, so this is the only protection. */
function isOriginAllowed(request: Request, origins: Origins | null): boolean {
  const origin = request.source.header("origin");
  if (typeof origins === "function") {
    const result: unknown = origins(origin, request);
    if (!isPromise(result)) return result === true;
    result.then(undefined, () => {});
    throw new ValueError(
      "the function 'origins' of a WebSocket route returned a promise: it must return true or false",
    );
  }
  if (origin === undefined || origins === "*") return true;
  if (origins === null) return isSameHost(origin, request.url);
  return origins.includes("*") || origins.includes(normalized(origin));
}
