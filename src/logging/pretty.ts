import { isatty } from "node:tty";
import { escapeText } from "./escape.js";
import { isoTime } from "./iso-time.js";
import type { LineLevel } from "./levels.js";
import { type PlainFields, type PlainValue, plainText } from "./plain.js";

/** A readable line; the stacks of errors follow, indented. */
export function prettyLine(
  time: number,
  level: LineLevel,
  message: string,
  fields: PlainFields | null,
  paint: Paint,
): string {
  let line = `${paint("dim", isoTime(time))} ${paint(levelStyles[level], level.toUpperCase().padEnd(5))} ${escapeText(plainText(message))}`;
  let stacks = "";
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (isErrorValue(value)) {
      line += ` ${paint("dim", `${escapeText(name)}=`)}${paint("red", summary(value))}`;
      stacks += stackLines(value, paint);
    } else {
      line += ` ${paint("dim", `${escapeText(name)}=`)}${showValue(value)}`;
    }
  }
  return `${line}\n${stacks}`;
}

export type Style = keyof typeof codes;

/** Adds colour to an escaped text; returns it unchanged without colours. */
export type Paint = (style: Style, text: string) => string;

export const plainPaint: Paint = (_, text) => text;
export const colourPaint: Paint = (style, text) => `\x1b[${codes[style]}m${text}\x1b[0m`;

const codes = { dim: 2, bold: 1, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

const levelStyles: Readonly<Record<LineLevel, Style>> = {
  debug: "magenta",
  info: "green",
  warn: "yellow",
  error: "red",
};

/** Colours go to terminals only, and not where NO_COLOR asks for none (no-color.org); FORCE_COLOR asks for them. */
export function paintFor(fd: number | undefined, env: NodeJS.ProcessEnv = process.env): Paint {
  if (env["NO_COLOR"]) return plainPaint;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced === "0" || forced === "false" ? plainPaint : colourPaint;
  return fd !== undefined && isatty(fd) && env["TERM"] !== "dumb" ? colourPaint : plainPaint;
}

interface ErrorValue {
  name: string;
  message: string;
  stack?: PlainValue;
  cause?: PlainValue;
}

function isErrorValue(value: PlainValue | undefined): value is PlainValue & ErrorValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return (
    typeof value["name"] === "string" && typeof value["message"] === "string" && typeof value["stack"] === "string"
  );
}

function summary(error: ErrorValue): string {
  return escapeText(`${error.name}: ${error.message}`);
}

/** The frames only: the head of a stack repeats the message, which may hold lines made to look like others. */
function stackLines(error: PlainValue & ErrorValue, paint: Paint): string {
  let lines = "";
  const stack = String(error.stack);
  const at = stack.indexOf(error.message);
  const frames = error.message !== "" && at !== -1 ? stack.slice(at + error.message.length) : stack;
  for (const frame of frames.split("\n")) {
    if (/^\s+at /.test(frame)) lines += `${paint("dim", `    ${escapeText(frame.trim())}`)}\n`;
  }
  if (isErrorValue(error.cause)) {
    lines += `  ${paint("dim", "caused by")} ${paint("red", summary(error.cause))}\n${stackLines(error.cause, paint)}`;
  }
  return lines;
}

function showValue(value: PlainValue): string {
  if (typeof value !== "string") return escapeText(JSON.stringify(value));
  return value === "" || /[\s"=]/.test(value) ? escapeText(JSON.stringify(value)) : escapeText(value);
}
