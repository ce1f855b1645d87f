import { mediaRanges } from "../../http/fields/accept.js";
import type { Family } from "./family.js";

export const textType = "text/plain; version=0.0.4; charset=utf-8";
export const openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** The text format of Prometheus, 0.0.4. */
export function textFormat(families: readonly Family[]): string {
  let text = "";
  for (const { name, help, type, samples } of families) {
    text += `# HELP ${name} ${help.replace(/[\\\n]/g, escapeHelp)}\n# TYPE ${name} ${type}\n`;
    for (const [series, value] of samples) text += `${name}${series} ${number(value)}\n`;
  }
  return text;
}

/** OpenMetrics 1.0: the name of a counter's family lacks the suffix of its samples, and the text ends with a mark. */
export function openMetricsFormat(families: readonly Family[]): string {
  let text = "";
  for (const { name, help, type, samples } of families) {
    const [family, kind] = openMetricsFamily(name, type);
    text += `# TYPE ${family} ${kind}\n# HELP ${family} ${help.replace(/[\\\n"]/g, escapeHelp)}\n`;
    for (const [series, value] of samples) text += `${name}${series} ${number(value)}\n`;
  }
  return `${text}# EOF\n`;
}

/** True if OpenMetrics is accepted, and rated at least as high as plain text: Prometheus rates both. */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  if (!accept?.includes("application/openmetrics-text")) return false;
  const ranges = mediaRanges(accept);
  const open = ranges.get("application/openmetrics-text") ?? 0;
  return open > 0 && open >= (ranges.get("text/plain") ?? 0);
}

function openMetricsFamily(name: string, type: Family["type"]): readonly [name: string, type: string] {
  if (type !== "counter") return [name, type === "untyped" ? "unknown" : type];
  return name.endsWith("_total") ? [name.slice(0, -"_total".length), type] : [name, "unknown"];
}

function escapeHelp(found: string): string {
  return found === "\n" ? "\\n" : `\\${found}`;
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}
