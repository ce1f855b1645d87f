import type { OutgoingHttpHeaders } from "node:http2";
import type { Response } from "../../http/response.js";
import { checkValue, givenLength, namesClose } from "../http1/response-head.js";

/** The fields of a response, with those apart that the transport needs. */
export interface ResponseFields {
  readonly headers: OutgoingHttpHeaders;
  /** The length that the application gives; -1 without one. */
  readonly length: number;
  /** The application wants the connection closed. */
  readonly close: boolean;
}

/** Throws when a value cannot be sent. Fields of a connection are left out (RFC 9113 section 8.2.2). */
export function responseFields(response: Response): ResponseFields {
  const headers: OutgoingHttpHeaders = { ":status": response.status };
  let length = -1;
  let close = false;
  if (response.type !== null) add(headers, "content-type", response.type);
  const fields = response.fields;
  if (fields !== null) {
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i]!.toLowerCase();
      const value = fields[i + 1]!;
      switch (name) {
        case "content-length":
          length = givenLength(value);
          break;
        case "connection":
          if (namesClose(value)) close = true;
          break;
        case "transfer-encoding":
        case "keep-alive":
        case "proxy-connection":
        case "upgrade":
        case "http2-settings":
          break;
        default:
          add(headers, name, value);
      }
    }
  }
  return { headers, length, close };
}

function add(headers: OutgoingHttpHeaders, name: string, value: string): void {
  // A proxy may translate it to HTTP/1.1.
  checkValue(name, value);
  const before = headers[name];
  if (before === undefined) headers[name] = value;
  else if (Array.isArray(before)) before.push(value);
  else headers[name] = [String(before), value];
}
