import type { Response } from "../../http/response.js";
import { setMissingField } from "../../http/response-fields.js";

/** Gives a client its cookie; nobody else must be given that answer. */
export function addCookie(response: Response, cookie: string): void {
  response.addField("Set-Cookie", cookie);
  setMissingField(response, "Cache-Control", "no-store");
}
