/**
 * One metric with all its series at one moment. It is rendered for a scrape and sent between workers, so it must
 * survive JSON.
 */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary" | "untyped";
  readonly merge: MergeRule;
  readonly samples: readonly Sample[];
}

/** The text between the name of the metric and the value, rendered: `_bucket{path="/",le="0.1"}`. */
export type Sample = readonly [series: string, value: number];

/** The rule that makes one value of those of several workers. */
export type MergeRule = "sum" | "max" | "min" | "mean" | "first";

/** The families of several workers as those of one service, in the order of the first. */
export function mergeFamilies(workers: readonly (readonly Family[])[]): Family[] {
  if (workers.length === 1) return [...workers[0]!];
  const merged = new Map<string, { family: Family; values: Map<string, number[]> }>();
  for (const family of workers.flat()) {
    let entry = merged.get(family.name);
    if (!entry) merged.set(family.name, (entry = { family, values: new Map() }));
    // If two programs disagree about a name, as during a rolling update of the code, the first one is used.
    if (entry.family.type !== family.type) continue;
    for (const [series, value] of family.samples) {
      const values = entry.values.get(series);
      if (values) values.push(value);
      else entry.values.set(series, [value]);
    }
  }
  return [...merged.values()].map(({ family, values }) => ({
    ...family,
    samples: [...values].map(([series, all]): Sample => [series, combine(family.merge, all)]),
  }));
}

function combine(rule: MergeRule, values: readonly number[]): number {
  if (rule === "max") return Math.max(...values);
  if (rule === "min") return Math.min(...values);
  if (rule === "first") return values[0]!;
  const sum = values.reduce((a, b) => a + b, 0);
  return rule === "mean" ? sum / values.length : sum;
}
