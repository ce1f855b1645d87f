import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
/** Endings that have a special meaning in the formats. */
const reservedEnding = /_(?:total|count|sum|bucket|created|info)$/;

export function checkMetricName(name: unknown, kind: "counter" | "gauge" | "histogram"): asserts name is string {
  if (typeof name !== "string" || !metricName.test(name)) {
    throw new ValueError(`the name of a metric consists of letters, digits, '_' and ':'; ${show(name)} does not`);
  }
  if (kind === "counter") {
    if (!name.endsWith("_total")) throw new ValueError(`the name of a counter ends in '_total'; '${name}' does not`);
  } else if (reservedEnding.test(name) && !(kind === "gauge" && name.endsWith("_info"))) {
    throw new ValueError(`the name of a ${kind} cannot end as '${name}' does: that ending is reserved`);
  }
}

export function checkLabelNames(metric: string, labels: readonly string[], taken: readonly string[]): void {
  for (const [index, label] of labels.entries()) {
    if (!labelName.test(label) || label.startsWith("__") || taken.includes(label)) {
      throw new ValueError(`'${label}' cannot be a label of the metric ${metric}`);
    }
    if (labels.indexOf(label) !== index) throw new ValueError(`the metric ${metric} has the label '${label}' twice`);
  }
}

/** Characters of a label's value. Values may come from clients, and each is kept for good and sent with every scrape. */
const maxValue = 256;

/** One label as it stands between the braces. */
export function label(name: string, value: unknown): string {
  const text = String(value);
  return `${name}="${escapeLabel(text.length > maxValue ? text.slice(0, maxValue) : text)}"`;
}

function escapeLabel(text: string): string {
  if (!/[\\"\n]/.test(text)) return text.toWellFormed();
  return text.toWellFormed().replace(/[\\"\n]/g, (found) => (found === "\n" ? "\\n" : `\\${found}`));
}

/** Labels in braces, or nothing where there are none. */
export function inBraces(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}
