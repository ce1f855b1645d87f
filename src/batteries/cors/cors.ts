import { isToken } from "../../http/fields/headers.js";
import { addVary, setField } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { isOrigins, type Origins, readOrigins } from "./origins.js";

const tokens = is.list<string>((item) => (typeof item === "string" && isToken(item) ? undefined : "a name"));

const allMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const commonHeaders = [
  "Accept",
  "Accept-Language",
  "Authorization",
  "Cache-Control",
  "Connect-Protocol-Version",
  "Connect-Timeout-Ms",
  "Content-Language",
  "Content-Type",
  "Grpc-Timeout",
  "Idempotency-Key",
  "If-Match",
  "If-Modified-Since",
  "If-None-Match",
  "If-Unmodified-Since",
  "Last-Event-ID",
  "Range",
  "X-API-Key",
  "X-CSRF-Token",
  "X-Grpc-Web",
  "X-Request-ID",
  "X-Requested-With",
  "X-User-Agent",
];

export const corsOptions = options(
  "enableCors()",
  {
    /** Sites that may read responses. Default "*": all sites. */
    origins: option<Origins>(isOrigins, "*"),
    /** Lets browsers send cookies along; not together with `*`. Default false. */
    credentials: option(is.boolean, false),
    /** Methods to allow. Default: all. */
    methods: option(tokens, allMethods, "all"),
    /** Header fields to allow in requests; `"*"` for all that a preflight request names. Default: the common ones. */
    allowHeaders: option(is.either(is.oneOf("*"), tokens), commonHeaders, "the common ones"),
    /** Header fields of responses that scripts may read. Default: those that browsers always show. */
    exposeHeaders: option(tokens),
    /** Time for which a browser may cache the response to a preflight request. Default 1 day. */
    maxAge: option.duration("1d"),
  },
  { order: ["origins"] },
);

export interface CorsOptions extends OptionsOf<typeof corsOptions.fields> {}

/** Allows scripts of other sites to use the application. Takes the arguments of `enableCors`. */
export function cors(args: readonly unknown[]): Middleware {
  const { origins, credentials, methods, allowHeaders, exposeHeaders, ...settings } = corsOptions.read(args);
  const allows = readOrigins(origins);
  if (allows === null && credentials) {
    throw new ValueError("enableCors() cannot allow credentials to every site: name the origins, or give a function");
  }
  const exposed = exposeHeaders?.join(", ");
  const methodList = methods.join(", ");
  const headerList = allowHeaders === "*" ? null : allowHeaders.join(", ");
  const maxAge = String(Math.round(settings.maxAge));

  const allow = (response: Response, origin: string): void => {
    setField(response, "Access-Control-Allow-Origin", origin);
    if (credentials) setField(response, "Access-Control-Allow-Credentials", "true");
  };

  const allowPreflight = (request: Request, response: Response, origin: string): Response => {
    allow(response, origin);
    if (methodList !== "") response.addField("Access-Control-Allow-Methods", methodList);
    const headers = headerList ?? requestedHeaders(request);
    if (headers !== "") response.addField("Access-Control-Allow-Headers", headers);
    response.addField("Access-Control-Max-Age", maxAge);
    return response;
  };

  const preflight = (request: Request, origin: string): Response | Promise<Response> => {
    const response = new Response(null, 204);
    response.given = true;
    if (headerList === null) addVary(response, "Access-Control-Request-Headers");
    if (allows === null) return allowPreflight(request, response, "*");
    addVary(response, "Origin");
    const settle = (allowed: boolean): Response =>
      allowed === true ? allowPreflight(request, response, origin) : response;
    const verdict = allows(origin, request);
    return verdict instanceof Promise ? verdict.then(settle) : settle(verdict);
  };

  const expose = (response: Response, origin: string): void => {
    allow(response, origin);
    if (exposed) setField(response, "Access-Control-Expose-Headers", exposed);
  };

  const before = (request: Request): Response | Promise<Response> | undefined => {
    if (request.method !== "OPTIONS") return undefined;
    const origin = request.source.header("origin");
    if (origin === undefined || request.source.header("access-control-request-method") === undefined) return undefined;
    return preflight(request, origin);
  };

  const after = (request: Request, response: Response): Promise<void> | undefined => {
    if (allows === null) return void expose(response, "*");
    addVary(response, "Origin");
    const origin = request.source.header("origin");
    if (origin === undefined) return undefined;
    const verdict = allows(origin, request);
    if (verdict instanceof Promise) {
      return verdict.then((allowed) => {
        if (allowed === true) expose(response, origin);
      });
    }
    if (verdict === true) expose(response, origin);
    return undefined;
  };

  const middleware = { before, after };
  return { name: "cors", slot: "cors", early: true, forRoute: (route) => (route.websocket ? null : middleware) };
}

const maxRequested = 4096;

/** The header fields that a preflight request names; none if one of them is not a valid name, since they are sent back. */
function requestedHeaders(request: Request): string {
  const asked = request.source.header("access-control-request-headers") ?? "";
  if (asked.length > maxRequested) return "";
  const names = asked
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return names.every(isToken) ? names.join(", ") : "";
}
