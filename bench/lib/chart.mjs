/** Stoa has a colour of its own in all its variants; a limit that is no server is drawn as a frame. */
const stoa = 'fill="#3b6ea5"';
const others = 'fill="#b4b8bd"';
const limit = 'fill="none" stroke="#3b6ea5" stroke-dasharray="4 2"';
const dark = `<style>@media (prefers-color-scheme: dark) { rect:first-of-type { fill: #1b1b1f } text { fill: #ddd; stroke: #1b1b1f } line { stroke: #aaa } }</style>`;
const barHeight = 16;
const left = 110;
const width = 560;

/** The ratios as bars, grouped by workload, with a line at the base. */
export function toSvg({ workloads, special, database, base }) {
  const kept = [...workloads, ...special, ...database.workloads].filter(({ discarded }) => !discarded);
  const results = kept.flatMap(({ contestants }) => contestants.filter(({ error }) => !error));
  const scale = width / Math.max(1.2, ...results.map(({ ratio }) => ratio));
  const parts = [];
  let y = 40;
  for (const { key, name, contestants, base: own } of kept) {
    parts.push(text(10, y + 12, `${key}: ${name}`, "bold"));
    if (own !== base) parts.push(text(10, y + 12 + barHeight, `(${own} = 1)`));
    for (const entry of contestants.filter(({ error }) => !error)) {
      const length = (entry.ratio * scale).toFixed(1);
      parts.push(`<rect x="${left}" y="${y}" width="${length}" height="${barHeight - 3}" ${look(entry.name)}/>`);
      parts.push(text(left + Number(length) + 6, y + 11, `${entry.name} ${entry.ratio.toFixed(2)}`));
      y += barHeight;
    }
    y += 14;
  }
  const line = left + scale;
  parts.unshift(`<line x1="${line}" x2="${line}" y1="30" y2="${y - 8}" stroke="#333" stroke-dasharray="3 3"/>`);
  parts.push(text(left, 20, `Requests per CPU time, ${base} = 1`, "bold"));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + width + 130}" height="${y}" font-family="sans-serif" font-size="12">
<title>Requests per CPU time, ${base} = 1</title>
${dark}
<rect width="100%" height="100%" fill="#fff"/>
${parts.join("\n")}
</svg>
`;
}

function look(name) {
  if (name === "net") return limit;
  return name.startsWith("stoa") ? stoa : others;
}

function text(x, y, content, weight = "normal") {
  const escaped = content.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const halo = 'paint-order="stroke" stroke="#fff" stroke-width="3"';
  return `<text x="${x}" y="${y}" font-weight="${weight}" ${halo}>${escaped}</text>`;
}
