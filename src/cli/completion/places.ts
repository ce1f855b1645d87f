import { type OptionSpecs, shownFlag } from "../arguments.js";
import type { CommandTable } from "../command.js";

/** A point of the command line at which a word can be completed: after `stoa`, after `stoa migrate`, after `stoa migrate make`. */
export interface CompletionPoint {
  /** The commands before it, each with a space in front: ` migrate make`. */
  readonly path: string;
  readonly words: readonly Entry[];
  readonly flags: readonly Flag[];
}

export interface Entry {
  readonly name: string;
  readonly help: string;
}

export interface Flag extends Entry {
  readonly short: string | undefined;
  /** What follows it: nothing, a path, or another text. */
  readonly value: "none" | "path" | "text";
}

/** All places, from the declarations of the commands. */
export async function placesOf(commands: CommandTable, common: OptionSpecs, path = ""): Promise<CompletionPoint[]> {
  const words = Object.entries(commands).map(([name, { summary }]) => ({ name, help: summary }));
  const flags = flagsOf({ help: common["help"]! });
  if (path === "") flags.push({ name: "--version", help: "show the version", short: undefined, value: "none" });
  const places: CompletionPoint[] = [{ path, words, flags }];
  for (const [name, entry] of Object.entries(commands)) {
    const found = await entry.load();
    const below = `${path} ${name}`;
    if ("commands" in found) places.push(...(await placesOf(found.commands, common, below)));
    else {
      const choices = (found.choices ?? []).map((choice) => ({ name: choice, help: found.summary }));
      places.push({ path: below, words: choices, flags: flagsOf({ ...found.options, ...common }) });
    }
  }
  return places;
}

function flagsOf(specs: OptionSpecs): Flag[] {
  return Object.entries(specs).map(([name, spec]) => ({
    name: shownFlag(name, spec),
    help: spec.help,
    short: spec.short,
    value: spec.kind === "switch" ? "none" : /^(?:FILE|FOLDER)$/.test(spec.value ?? "") ? "path" : "text",
  }));
}
