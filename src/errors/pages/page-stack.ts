import { relative, sep } from "node:path";
import { escapeHtml } from "../../kit/pages/escape-html.js";
import type { ErrorDescription } from "../describe.js";
import { highlight } from "./highlight.js";
import { type SourceLine, sourceExcerpt } from "./source-excerpt.js";
import { type StackFrame, stackFrames } from "./stack-frames.js";

/** The frames of an error: the application's own with their source, all others folded. */
export function stackSection(error: ErrorDescription): string {
  const frames = stackFrames(error);
  if (frames.length === 0) return `<p class="note">There is no stack: what was thrown does not carry one.</p>`;
  let open = true;
  const rows = groups(frames).map((group) => {
    if (group[0]!.owner !== "application") return foldedFrames(group);
    return group
      .map((frame) => {
        const lines = frame.line === undefined ? null : sourceExcerpt(frame.file, frame.line);
        if (!lines) return `<li class="frame">${frameTitle(frame)}</li>`;
        const opened = open;
        open = false;
        return `<li class="frame"><details${opened ? " open" : ""}><summary>${frameTitle(frame)}</summary>${excerpt(lines, frame)}</details></li>`;
      })
      .join("\n");
  });
  return `<section class="stack">
<h3>Stack</h3>
<ol>${rows.join("\n")}</ol>
<details class="raw"><summary>As text</summary><pre>${escapeHtml(error.stack ?? "")}</pre></details>
</section>`;
}

/** Runs of frames that are, or are not, the application's. */
function groups(frames: readonly StackFrame[]): StackFrame[][] {
  const runs: StackFrame[][] = [];
  for (const frame of frames) {
    const run = runs.at(-1);
    if (run && (run[0]!.owner === "application") === (frame.owner === "application")) run.push(frame);
    else runs.push([frame]);
  }
  return runs;
}

const ownerNames: Readonly<Record<StackFrame["owner"], string>> = {
  application: "the application",
  framework: "Stoa",
  dependency: "node_modules",
  node: "Node.js",
};

function foldedFrames(frames: readonly StackFrame[]): string {
  const owners = [...new Set(frames.map((frame) => ownerNames[frame.owner]))].join(", ");
  const count = frames.length === 1 ? "1 frame" : `${frames.length} frames`;
  const items = frames.map((frame) => `<li class="frame">${frameTitle(frame)}</li>`).join("\n");
  return `<li class="fold"><details><summary>${count} in ${owners}</summary><ol>${items}</ol></details></li>`;
}

function frameTitle(frame: StackFrame): string {
  const call = frame.call === "" ? "<em>anonymous</em>" : escapeHtml(frame.call);
  const line = frame.line === undefined ? "" : `<b>:${frame.line}</b>`;
  const column = frame.column === undefined ? "" : `:${frame.column}`;
  return `<span class="call">${call}</span> <span class="file">${escapeHtml(shortPath(frame.file))}${line}${column}</span>`;
}

function shortPath(file: string): string {
  const folder = process.cwd() + sep;
  return file.startsWith(folder) ? relative(folder, file) : file;
}

function excerpt(lines: readonly SourceLine[], frame: StackFrame): string {
  const rows = lines.map(({ number, text }) => {
    const row = `<i>${number}</i><span>${highlight(text) || " "}</span>`;
    if (number !== frame.line) return `<div>${row}</div>`;
    return `<div class="hit">${row}</div>${caret(text, frame.column)}`;
  });
  return `<div class="code" role="region" aria-label="Source" tabindex="0"><div>${rows.join("")}</div></div>`;
}

/** Points at the column. The text before it is copied as blanks, so that tabs keep their width. */
function caret(text: string, column: number | undefined): string {
  if (column === undefined || column < 1 || column > text.length) return "";
  const blank = text.slice(0, column - 1).replace(/[^\t]/g, " ");
  return `<div class="caret" aria-hidden="true"><i></i><span>${blank}^</span></div>`;
}
