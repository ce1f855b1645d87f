import type { CommandGroup } from "../command.js";

export const messages: CommandGroup = {
  summary: "Looks at messages that could not be handled or published, sends them again or discards them.",
  commands: {
    list: {
      summary: "list failures with the number of their messages",
      load: async () => (await import("../messages/list.js")).list,
    },
    show: { summary: "show one message", load: async () => (await import("../messages/show.js")).show },
    replay: { summary: "send messages again", load: async () => (await import("../messages/change.js")).replay },
    discard: { summary: "delete messages for good", load: async () => (await import("../messages/change.js")).discard },
  },
};
