import { ValueError } from "../../kit/value-error.js";
import type { SagaDefinition } from "./definition.js";

/** An execution that was started with other steps. */
export interface Moved {
  readonly status: string;
  readonly step: number;
  readonly steps: string;
  readonly results: Readonly<Record<string, unknown>>;
  readonly unknown: readonly string[];
}

/**
 * The unit of the present steps at which an execution continues. Forward, that is the first one without a result. Backward, it is
 * the last one of those that were not undone yet.
 *
 * A step whose effect is or may be there, and that the present steps do not have, could never be undone: that is refused.
 */
export function placeIn(
  { units, nodes, name }: SagaDefinition,
  { status, step, steps, results, unknown }: Moved,
): number {
  const present = nodes.flatMap(({ names }) => names);
  const past = steps.split("\n").flatMap((line) => line.slice(line.indexOf(" ") + 1).split(", "));
  const open = status === "compensating" ? past.slice(0, step + 1) : past;
  const effects = open.filter((one) => Object.hasOwn(results, one) || unknown.includes(one));
  const gone = effects.filter((one) => !present.includes(one));
  if (gone.length > 0) {
    throw new ValueError(
      `the present steps of the saga "${name}" lack ${gone.join(", ")}, which had an effect that may have to be undone`,
    );
  }
  if (status === "compensating") return Math.max(-1, ...effects.map((one) => present.indexOf(one)));
  const next = present.findIndex((one) => !Object.hasOwn(results, one));
  // A parallel part begins with its first unit; it leaves out the steps that have a result.
  return next < 0 ? units.length : units[next]!.at;
}
