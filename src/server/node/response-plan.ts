import type { Response } from "../../http/response.js";

/** What a response's own fields say about matters that are the transport's. */
export interface ResponsePlan {
  /** Names and values in turn, without those that the transport sends itself. */
  readonly lines: string[];
  /** What the application says the length is; -1 when it says nothing. */
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
        if (!/^\d{1,15}$/.test(value)) throw new Error(`Content-Length cannot be '${value}'`);
        length = Number(value);
        break;
      case "connection":
        if (/(?:^|,)\s*close\s*(?:,|$)/i.test(value)) close = true;
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
