/** One row for each contestant, one column for each workload. */
export function contestantTable(workloads, base, contestants, cell, first = []) {
  const rows = contestants.map((name) => [
    name,
    ...workloads.map((workload) => {
      if (workload.discarded) return "discarded";
      const result = workload.contestants.find((entry) => entry.name === name);
      if (!result) return "";
      return result.error ? "failed" : cell(result);
    }),
  ]);
  const title = (workload) =>
    `${workload.key}: ${workload.name}${workload.base === base ? "" : ` (to ${workload.base})`}`;
  return markdownTable(["", ...workloads.map(title)], [...first, ...rows]);
}

/** The result of the base against itself. */
export function controlRow(workloads, cell = spread) {
  return ["the base against itself", ...workloads.map(({ control }) => cell(control))];
}

export function markdownTable(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

export const spread = ({ ratio, lowest, highest }) =>
  `${ratio.toFixed(2)} (${lowest.toFixed(2)}-${highest.toFixed(2)})`;
export const pair = ({ start, load }) => `${start.toFixed(0)} / ${load.toFixed(0)}`;
