import { p99 } from "./verdict.mjs";

const width = 1200;
const left = 70;
const panel = 110;
const gap = 28;
/** The width of a letter of the names of faults. */
const letter = 4.8;

/** A run as a picture: requests and errors in a second, the latency, and each fault as a bar. */
export function timelineSvg({ http, faults, title }) {
  let begin = Number.POSITIVE_INFINITY;
  let end = Math.max(...faults.map((fault) => fault.end ?? 0));
  // More of them than a call takes arguments.
  for (const { at, ms } of http) {
    begin = Math.min(begin, at);
    end = Math.max(end, at + ms);
  }
  const bin = Math.max(1000, Math.ceil((end - begin) / 600 / 1000) * 1000);
  const bins = Array.from({ length: Math.ceil((end - begin) / bin) }, () => ({ ok: 0, failed: 0, times: [] }));
  for (const { at, ms, ok } of http) {
    const place = bins[Math.min(bins.length - 1, Math.floor((at - begin) / bin))];
    place[ok ? "ok" : "failed"]++;
    place.times.push(ms);
  }
  const x = (at) => round(left + ((at - begin) / (end - begin)) * (width - left - 10));
  const perSecond = (count) => (count * 1000) / bin;
  const rows = lanes(faults, ({ name, begin: from, end: to }) => {
    const text = faults.length > 60 ? 0 : name.length * letter;
    return { from: x(from), to: Math.max(x(to ?? end), x(from) + text) };
  });
  const faultsTop = 3 * (panel + gap) + 30;
  const height = faultsTop + rows.length * 15 + 30;
  const parts = [
    chart(
      "requests/s",
      30,
      "#2563eb",
      bins.map(({ ok }) => perSecond(ok)),
      false,
    ),
    chart(
      "errors/s",
      30 + panel + gap,
      "#dc2626",
      bins.map(({ failed }) => perSecond(failed)),
      false,
    ),
    chart(
      "p99 ms (log)",
      30 + 2 * (panel + gap),
      "#7c3aed",
      bins.map(({ times }) => p99(times) ?? 0),
      true,
    ),
    ...rows.flatMap((row, index) => row.map((fault) => bar(fault, faultsTop + index * 15))),
    ...minutes(),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">
<title>${escaped(title)}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${left}" y="16" font-size="13">${escaped(title)}</text>
${parts.join("\n")}
</svg>
`;

  function chart(name, top, colour, values, logarithmic) {
    const scale = (value) => (logarithmic ? Math.log10(Math.max(1, value)) : value);
    const most = Math.max(1, ...values.map(scale));
    const points = values.map((value, index) => {
      const y = top + panel - (scale(value) / most) * panel;
      return `${x(begin + (index + 0.5) * bin)},${round(y)}`;
    });
    const label = Math.round(Math.max(...values, 0));
    return `<g><line x1="${left}" x2="${width - 10}" y1="${top + panel}" y2="${top + panel}" stroke="#ccc"/>
<text x="4" y="${top + panel / 2}">${name}</text><text x="${left - 4}" y="${top + 8}" text-anchor="end">${label}</text>
<polyline fill="none" stroke="${colour}" points="${points.join(" ")}"/></g>`;
  }

  function bar({ name, begin: from, end: to }, top) {
    const wide = Math.max(2, x(to ?? end) - x(from));
    const shades =
      faults.length > 60
        ? ""
        : `<rect x="${x(from)}" y="30" width="${wide}" height="${faultsTop - 40}" fill="#f59e0b" opacity="0.12"/>`;
    const text =
      faults.length > 60 ? "" : `<text x="${x(from) + 2}" y="${top + 10}" font-size="9">${escaped(name)}</text>`;
    return `<g>${shades}<rect x="${x(from)}" y="${top}" width="${wide}" height="12" fill="#f59e0b" opacity="0.7"><title>${escaped(name)}</title></rect>${text}</g>`;
  }

  function minutes() {
    const step = end - begin > 600_000 ? 300_000 : 30_000;
    const marks = [];
    for (let at = 0; at <= end - begin; at += step) {
      marks.push(`<text x="${x(begin + at)}" y="${height - 8}" fill="#666">${at / 1000} s</text>`);
    }
    return marks;
  }
}

/** Faults in rows, so that no text covers another. */
function lanes(faults, widthOf) {
  const rows = [];
  for (const fault of faults) {
    const row = rows.find((list) => widthOf(list.at(-1)).to < widthOf(fault).from);
    if (row) row.push(fault);
    else rows.push([fault]);
  }
  return rows;
}

const round = (value) => Math.round(value * 10) / 10;
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
