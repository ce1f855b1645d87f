/**
 * Every error that the framework itself sends: its code, its status and its text for the client. The problem's `type`
 * is made from the code; docs/errors.md lists the table, and a test holds the two together.
 */
export const errorTable = {
  BAD_REQUEST: [400, "The request is not valid."],
  MALFORMED_REQUEST: [400, "The request is not valid HTTP."],
  MALFORMED_PATH: [400, "The path is not valid."],
  MALFORMED_JSON: [400, "The body is not valid JSON."],
  EMPTY_BODY: [400, "The body is empty; a JSON document was expected."],
  MALFORMED_FORM: [400, "The body is not a valid form."],
  INCOMPLETE_BODY: [400, "The body ended before it was complete."],
  UNAUTHORIZED: [401, "Credentials are required."],
  FORBIDDEN: [403, "You are not allowed to do this."],
  ORIGIN_NOT_ALLOWED: [403, "This origin is not allowed."],
  NOT_FOUND: [404, "There is nothing at this address."],
  METHOD_NOT_ALLOWED: [405, "This method is not allowed at this address."],
  NOT_ACCEPTABLE: [406, "No acceptable form of the response exists."],
  REQUEST_TIMEOUT: [408, "The request took too long to arrive."],
  CONFLICT: [409, "The request conflicts with the state of the resource."],
  LENGTH_REQUIRED: [411, "The length of the body must be given."],
  PRECONDITION_FAILED: [412, "A condition of the request does not hold."],
  PAYLOAD_TOO_LARGE: [413, "The body is larger than allowed."],
  URI_TOO_LONG: [414, "The address is longer than allowed."],
  UNSUPPORTED_MEDIA_TYPE: [415, "The type of the body is not supported here."],
  RANGE_NOT_SATISFIABLE: [416, "The range lies outside the resource."],
  EXPECTATION_FAILED: [417, "The expectation cannot be met."],
  MISDIRECTED_REQUEST: [421, "This host is not served here."],
  UPGRADE_REQUIRED: [426, "This address speaks WebSocket only."],
  TOO_MANY_REQUESTS: [429, "Too many requests."],
  HEADERS_TOO_LARGE: [431, "The header fields are larger than allowed."],
  INTERNAL_SERVER_ERROR: [500, "The server failed to handle the request."],
  NOT_IMPLEMENTED: [501, "The server does not support this method."],
  SERVICE_UNAVAILABLE: [503, "The server cannot handle the request now."],
  CIRCUIT_OPEN: [503, "This part of the service has failed repeatedly and is given a pause."],
  GATEWAY_TIMEOUT: [504, "The request took too long to handle."],
  HTTP_VERSION_NOT_SUPPORTED: [505, "Only HTTP/1.1 and HTTP/1.0 are supported."],
} as const satisfies Record<string, readonly [status: number, detail: string]>;

export type ErrorCode = keyof typeof errorTable;

const codeOfStatus = new Map<number, ErrorCode>();
for (const [code, [status]] of Object.entries(errorTable)) {
  if (!codeOfStatus.has(status)) codeOfStatus.set(status, code as ErrorCode);
}
codeOfStatus.set(400, "BAD_REQUEST");

/** The general code of a status, `NOT_FOUND` for 404. */
export function codeFor(status: number): string {
  return codeOfStatus.get(status) ?? `HTTP_${status}`;
}

/** The relative URI by which a problem names its kind: `/errors/not-found`. */
export function problemType(code: string): string {
  return `/errors/${code.toLowerCase().replaceAll("_", "-")}`;
}
