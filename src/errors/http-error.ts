import { type OptionsOf, option, options } from "../kit/config.js";
import { addSnakeNames, type SnakeMembers } from "../kit/names.js";
import { is, show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import { codeFor, type ErrorCode, errorTable } from "./table.js";

const initOptions = options("HttpError", {
  /** The kind of error, in capitals; names the problem's `type`. */
  code: option(is.text),
  /** Overrides the reason phrase of the status as the problem's `title`. */
  title: option(is.string),
  /** Header fields of the response. */
  headers: option<Readonly<Record<string, string>>>(is.record),
  /** Further members of the problem body. */
  extensions: option<Readonly<Record<string, unknown>>>(is.object),
  /** The exact JSON body, in place of problem details. */
  body: option<unknown>(is.anythingOrNull),
  /** The error that led to this one, for logs. */
  cause: option<unknown>(is.anything),
});

export interface HttpErrorInit extends OptionsOf<typeof initOptions.fields> {}

const noInit: HttpErrorInit = {};

/** An error with a status. Thrown anywhere in the pipeline, it becomes a response with problem details. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly extensions: Readonly<Record<string, unknown>> | undefined;
  readonly body: unknown;

  constructor(status: number, detail?: string, given?: HttpErrorInit) {
    // An error takes 4 µs, most of them for its stack; its options, 0.2 µs each.
    const init = given === undefined ? noInit : initOptions.readGiven([given]);
    const code = init.code ?? codeFor(status);
    super(
      detail ?? errorTable[code as ErrorCode]?.[1] ?? "",
      init.cause === undefined ? undefined : { cause: init.cause },
    );
    if (!Number.isInteger(status))
      throw new ValueError(`the status of an HttpError is an integer, not ${show(status)}`);
    this.name = new.target.name;
    this.status = status;
    this.code = code;
    this.title = init.title;
    this.headers = init.headers;
    this.extensions = init.extensions;
    this.body = init.body;
  }
}

/** An error of the framework's own table. */
export function httpError(code: ErrorCode, detail?: string, init: Omit<HttpErrorInit, "code"> = {}): HttpError {
  return new HttpError(errorTable[code][0], detail, { ...init, code });
}

class BaseGuardError extends HttpError {
  get statusCode(): number {
    return this.status;
  }
}

/** Raised by a guard that does not let a request through. */
export class GuardError extends BaseGuardError {}
export interface GuardError extends SnakeMembers<BaseGuardError, "statusCode", never> {}
addSnakeNames(BaseGuardError.prototype, ["statusCode"]);

/** The request lacks credentials, or they are not valid: 401. */
export class UnauthorizedError extends GuardError {
  constructor(message?: string, init?: HttpErrorInit) {
    const given = initOptions.readGiven([init], "UnauthorizedError");
    // RFC 9110 section 15.5.2: a 401 names the scheme by which to authenticate.
    super(401, message, { headers: { "WWW-Authenticate": "Bearer" }, ...given });
  }
}

/** The credentials are valid but do not suffice: 403. */
export class ForbiddenError extends GuardError {
  constructor(message?: string, init?: HttpErrorInit) {
    super(403, message, init);
  }
}
