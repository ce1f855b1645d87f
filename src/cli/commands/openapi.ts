import { ValueError } from "../../kit/value-error.js";
import { appOption, prepareApp } from "../application.js";
import { defineCommand } from "../command.js";
import { KeptFile } from "../kept-file.js";
import { oneLine, shownJson } from "../shown.js";

/** Differences that are shown. */
const most = 10;

export const openapi = defineCommand({
  summary: "Prints the OpenAPI document of the application.",
  options: {
    out: { kind: "text", value: "FILE", help: "write the document to this file" },
    check: {
      kind: "text",
      value: "FILE",
      help: "compare the document with this file: the exit code is 1 if they differ",
    },
    ...appOption,
  },
  details: `
The application is loaded and not started: nothing is connected, and no startup hook runs. --check compares values: the order of
keys and the layout of the file are of no importance.

Examples:
  stoa openapi --app src/app.ts --out openapi.json
  stoa openapi --check openapi.json      # in CI: fails if the committed file is out of date`,
  async run(call) {
    const { options, terminal, cwd } = call;
    const { out, check } = options;
    if (out !== undefined && check !== undefined) throw new ValueError("--out and --check: give one of them");
    const text = shownJson(await (await prepareApp(call)).openapi());
    if (out !== undefined) return new KeptFile("openapi", out, cwd, terminal).write(`${text}\n`);
    if (check === undefined) {
      terminal.print(text);
      return 0;
    }
    const file = new KeptFile("openapi", check, cwd, terminal);
    const found = differences(await readJson(file), JSON.parse(text));
    for (const line of found.slice(0, most)) terminal.print(oneLine(line));
    if (found.length > most) terminal.print(`and ${found.length - most} more`);
    return file.isUpToDate(found.length === 0);
  },
});

async function readJson(file: KeptFile): Promise<unknown> {
  const text = await file.read();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ValueError(`${file.path} is no JSON: ${file.cure}`, { cause });
  }
}

/**
 * The places where two JSON values differ, one line for each: a sign and a JSON Pointer (RFC 6901). `-`: only the first value
 * has the place. `+`: only the second has it. `~`: the value changed.
 */
function differences(before: unknown, after: unknown, at = ""): string[] {
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) {
    return before === after ? [] : [`~ ${at || "/"}: ${brief(before)} -> ${brief(after)}`];
  }
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => {
    const place = `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (!Object.hasOwn(after, key)) return [`- ${place}`];
    if (!Object.hasOwn(before, key)) return [`+ ${place}`];
    return differences(before[key], after[key], place);
  });
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
