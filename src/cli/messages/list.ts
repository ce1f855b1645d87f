import { defineCommand } from "../command.js";
import { shownJson, tableLines } from "../shown.js";
import type { PileGroup } from "./pile.js";
import { appOptions, withPile } from "./with-app.js";

export const list = defineCommand({
  summary: "Lists the failures of messages, with the number of their messages.",
  options: { json: { kind: "switch", help: "print a JSON list" }, ...appOptions },
  details: `
Dead letters are messages that could not be handled. Messages of the outbox are listed if they could not be published. The
first column names the failure: \`stoa messages replay --failure NAME\`.`,
  async run(call) {
    const { options, terminal } = call;
    const groups = await withPile(call, (pile) => pile.groups());
    if (options.json) terminal.print(shownJson(groups));
    else if (groups.length === 0) terminal.print("no message has failed");
    else for (const line of lines(groups)) terminal.print(line);
  },
});

function lines(groups: readonly PileGroup[]): string[] {
  const rows = groups.map(({ name, kind, topic, count, replays, last, failure }) => {
    const when = last.toISOString().replace("T", " ").slice(0, 19);
    return [name, kind, topic, String(count), String(replays), when, failure];
  });
  return tableLines([["NAME", "KIND", "TOPIC", "MESSAGES", "REPLAYS", "LAST", "FAILURE"], ...rows]);
}
