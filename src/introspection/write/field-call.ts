import { type Code, objectCode } from "./source.js";

export type Options = (readonly [name: string, value: Code])[];

export function call(maker: string, before: readonly Code[], options: Options): Code {
  const given = [...before, ...(options.length === 0 ? [] : [objectCode(options)])];
  return [`${maker}(`, ...given.flatMap((each, index) => (index === 0 ? [each] : [", ", each])), ")"];
}

/** An option that is true. */
export function yes(name: string): Options {
  return [[name, "true"]];
}
