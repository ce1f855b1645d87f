import type { Family, MergeRule, Sample } from "./family.js";
import { inBraces, label } from "./names.js";

/** A registry of prom-client, as far as it is needed here. */
export interface PromRegistry {
  getMetricsAsJSON(): PromMetric[] | Promise<PromMetric[]>;
}

interface PromMetric {
  readonly name: string;
  readonly help: string;
  /** The type as a string, or as a member of an enumeration. */
  readonly type: unknown;
  readonly aggregator?: string;
  readonly values?: readonly PromValue[];
}

interface PromValue {
  readonly value: number;
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
}

const types = ["counter", "gauge", "histogram", "summary"] as const;

/** The rules of prom-client by our names. "omit" has no equal: the value of the first worker is shown. */
const rules: Readonly<Record<string, MergeRule>> = {
  sum: "sum",
  max: "max",
  min: "min",
  average: "mean",
  first: "first",
};

/** The metrics of a foreign registry as families of ours. */
export async function familiesOf(registry: PromRegistry): Promise<Family[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map((metric) => ({
    name: metric.name,
    help: metric.help,
    type: types.find((type) => type === metric.type) ?? "untyped",
    merge: rules[metric.aggregator ?? "sum"] ?? "first",
    samples: (metric.values ?? []).map((value) => sampleOf(metric.name, value)),
  }));
}

function sampleOf(name: string, { value, metricName = name, labels }: PromValue): Sample {
  const shown = Object.entries(labels).filter(([, text]) => text !== undefined);
  const rendered = shown.map(([key, text]) => label(key, text === Number.POSITIVE_INFINITY ? "+Inf" : text)).join(",");
  return [metricName.slice(name.length) + inBraces(rendered), value];
}
