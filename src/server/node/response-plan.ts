import type { Response } from "../../http/response.js";
import { givenLength, namesClose } from "../http1/response-head.js";

/** The fields of a response, with those apart that the transport sends itself. */
export interface ResponsePlan {
  /** Names and values in turn, without those that the transport sends itself. */
  readonly lines: string[];
  /** The length that the application gives; -1 without one. */
  readonly length: number;
  readonly dated: boolean;
  readonly close: boolean;
}

export function planResponse(response: Response): ResponsePlan {
  const lines: string[] = [];
  let length = -1;
  let dated = false;
  let close = false;
  if (response.type !== null) lines.push("Content-Type", response.type);
  const fields = response.fields ?? [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const value = fields[i + 1]!;
    switch (name.toLowerCase()) {
      case "content-length":
        length = givenLength(value);
        break;
      case "connection":
        if (namesClose(value)) close = true;
        break;
      case "transfer-encoding":
        break;
      case "date":
        dated = true;
        lines.push(name, value);
        break;
      default:
        lines.push(name, value);
    }
  }
  return { lines, length, dated, close };
}
