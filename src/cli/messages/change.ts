import { ValueError } from "../../kit/value-error.js";
import type { CommandCall } from "../command.js";
import { defineCommand } from "../command.js";
import type { Choice } from "./pile.js";
import { appOptions, withPile } from "./with-app.js";

const choiceOptions = {
  failure: { kind: "text", value: "NAME", help: "all messages of a failure, by its name in `stoa messages list`" },
  all: { kind: "switch", help: "all messages" },
  ...appOptions,
} as const;

export const replay = defineCommand({
  summary: "Sends dead letters back to the group that failed, and tries to publish messages of the outbox again.",
  args: "[ID ...]",
  maxArgs: 1000,
  options: choiceOptions,
  run: (call) => change(call, "replay"),
});

export const discard = defineCommand({
  summary: "Deletes dead letters and failed messages of the outbox for good.",
  args: "[ID ...]",
  maxArgs: 1000,
  options: choiceOptions,
  run: (call) => change(call, "discard"),
});

async function change(call: CommandCall<typeof choiceOptions>, how: "replay" | "discard"): Promise<number> {
  const choice = choiceOf(call, how);
  const count = await withPile(call, (pile) => pile.change(how, choice));
  const what = how === "replay" ? "sent again" : "discarded";
  call.terminal.print(`${count} ${count === 1 ? "message was" : "messages were"} ${what}`);
  // Ids that were not found are a mistake of the caller.
  return "ids" in choice && count < choice.ids.length ? 1 : 0;
}

function choiceOf({ options, args }: CommandCall<typeof choiceOptions>, how: string): Choice {
  const { failure, all } = options;
  const given = [args.length > 0, failure !== undefined, all === true].filter(Boolean).length;
  if (given !== 1) throw new ValueError(`stoa messages ${how} takes ids, --failure NAME or --all: one of them`);
  if (failure !== undefined) return { failure };
  return all ? { all: true } : { ids: args };
}
