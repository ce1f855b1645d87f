import { escapeJson } from "./escape.js";
import { isoTime } from "./iso-time.js";
import type { LineLevel } from "./levels.js";
import { type PlainFields, plainText } from "./plain.js";

/** One line of JSON: `{"time", "level", "msg", ...fields}`. */
export function jsonLine(time: number, level: LineLevel, message: string, fields: PlainFields | null): string {
  const head = `{"time":"${isoTime(time)}","level":"${level}","msg":${JSON.stringify(plainText(message))}`;
  const rest = fields ? JSON.stringify(unambiguous(fields)).slice(1) : "}";
  return `${escapeJson(rest === "}" ? `${head}}` : `${head},${rest}`)}\n`;
}

/** A field that is named like one of the line's own gets an underscore, so that no line has a name twice. */
function unambiguous(fields: PlainFields): PlainFields {
  if (!own.some((name) => Object.hasOwn(fields, name))) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [own.includes(name) ? `${name}_` : name, value]),
  );
}

const own: readonly string[] = ["time", "level", "msg"];
