import { ValueError } from "../../kit/value-error.js";
import { defineCommand } from "../command.js";
import { shownJson } from "../shown.js";
import { appOptions, withPile } from "./with-app.js";

export const show = defineCommand({
  summary: "Shows a message with its value, headers and error, as JSON.",
  args: "ID",
  maxArgs: 1,
  options: appOptions,
  async run(call) {
    const [id] = call.args;
    if (id === undefined) throw new ValueError("give the id of a message: `stoa messages show ID`");
    const found = await withPile(call, (pile) => pile.find(id));
    if (found.length === 0) throw new ValueError(`there is no dead letter and no failed message with the id '${id}'`);
    for (const { kind, message } of found) {
      // Bytes are of no use here; the text of a dead letter is a getter.
      const { bytes: _bytes, ...rest } = { bytes: null, ...message, text: message.text };
      call.terminal.print(shownJson({ kind, ...rest }));
    }
  },
});
