import { type Answers, detectChanges } from "../../migrations/autodetector.js";
import type { Operation } from "../../migrations/operation.js";
import type { SchemaState } from "../../orm/schema/state.js";
import type { DesiredSchema } from "../../orm/schema/state-of-models.js";
import type { OptionValues } from "../arguments.js";
import type { Terminal } from "../terminal.js";
import { Answerer, type answerOptions } from "./answers.js";

/** The operations that lead from a state to the models. Asks until there is nothing left to ask. */
export async function detect(
  from: SchemaState,
  desired: DesiredSchema,
  options: OptionValues<typeof answerOptions>,
  terminal: Terminal,
): Promise<readonly Operation[]> {
  const answerer = new Answerer(options, terminal);
  const answers = new Map<string, boolean | string>();
  for (;;) {
    const { operations, questions } = detectChanges(from, desired, answers as Answers);
    const [question] = questions;
    if (question === undefined) {
      answerer.refuseUnused();
      return operations;
    }
    answers.set(question.key, await answerer.answer(question));
  }
}
