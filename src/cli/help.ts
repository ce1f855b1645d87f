import { type OptionSpec, type OptionSpecs, shownFlag } from "./arguments.js";
import type { AnyCommand, CommandTable } from "./command.js";

/** Columns to which help is filled. */
const width = 100;

export function groupHelp(path: string, summary: string, commands: CommandTable): string {
  const rows = Object.entries(commands).map(([name, entry]): Row => [name, entry.summary]);
  const root = !path.includes(" ");
  const options: Row[] = [
    ["-h, --help", "show this text"],
    ...(root ? [["--version", "show the version"] as Row] : []),
  ];
  return [
    `${summary}\n`,
    `Usage: ${path} COMMAND [options]\n`,
    `Commands:\n${table(rows)}\n`,
    `Options:\n${table(options)}\n`,
    `\`${path} COMMAND --help\` tells more about a command.`,
  ].join("\n");
}

export function commandHelp(path: string, command: AnyCommand, common: OptionSpecs): string {
  const { summary, args, options, details } = command;
  const rows = [...Object.entries(options), ...Object.entries(common)].map(optionRow);
  return [
    `${summary}\n`,
    `Usage: ${path} [options]${args === undefined ? "" : ` ${args}`}\n`,
    `Options:\n${table(rows)}`,
    ...(details === undefined ? [] : [`\n${details.trim()}`]),
  ].join("\n");
}

type Row = readonly [left: string, right: string];

function optionRow([name, spec]: [string, OptionSpec]): Row {
  const flag = shownFlag(name, spec);
  const value = spec.kind === "switch" ? "" : ` ${spec.value ?? "VALUE"}`;
  return [`${spec.short === undefined ? "" : `-${spec.short}, `}${flag}${value}`, spec.help];
}

function table(rows: readonly Row[]): string {
  const left = Math.max(...rows.map(([name]) => name.length)) + 4;
  return rows.map(([name, text]) => `  ${name.padEnd(left - 2)}${filled(text, left)}`).join("\n");
}

function filled(text: string, indent: number): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line !== "" && indent + line.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join(`\n${" ".repeat(indent)}`);
}
