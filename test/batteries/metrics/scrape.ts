import { execFile } from "node:child_process";

/** The value of one series, as it stands in the text; undefined when it is not there. */
export function sample(text: string, series: string): number | undefined {
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** The sum over all series of a metric. */
export function sumOf(text: string, name: string): number {
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** Lines that are no comments. */
export function seriesIn(text: string): string[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

/** What promtool has to say about metrics: nothing, when they are well. */
export function judge(promtool: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(promtool, ["check", "metrics"], (error, stdout, stderr) =>
      resolve(`${error && !stdout && !stderr ? error.message : ""}${stdout}${stderr}`),
    );
    child.stdin!.end(text);
  });
}
