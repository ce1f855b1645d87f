import { setMissingField } from "../../http/fields/response-fields.js";
import type { Response } from "../../http/response.js";

/** Gives a client its cookie; the response must not be shared with other clients. */
export function addCookie(response: Response, cookie: string): void {
  response.addField("Set-Cookie", cookie);
  setMissingField(response, "Cache-Control", "no-store");
}
