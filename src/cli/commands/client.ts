import { ValueError } from "../../kit/value-error.js";
import { appOption, prepareApp } from "../application.js";
import { clientFile } from "../client/client-file.js";
import { defineCommand } from "../command.js";
import { KeptFile } from "../kept-file.js";

export const client = defineCommand({
  summary: "Writes a typed client of the application: one TypeScript file without dependencies.",
  options: {
    out: { kind: "text", value: "FILE", help: "write the client to this file" },
    check: { kind: "switch", help: "write nothing: the exit code is 1 if the file of --out is out of date" },
    ...appOption,
  },
  details: `
The client is made from the OpenAPI document, for browsers and servers. The application is loaded and not started: nothing is
connected, and no startup hook runs.

Examples:
  stoa client --app src/app.ts --out web/api.ts
  stoa client --out web/api.ts --check      # in CI: fails if the committed file is out of date`,
  async run(call) {
    const { options, terminal, cwd } = call;
    const { out, check = false } = options;
    if (out === undefined && check) throw new ValueError("--check needs the file to compare: --out FILE --check");
    const text = clientFile(await (await prepareApp(call)).openapi());
    if (out === undefined) {
      terminal.print(text.trimEnd());
      return 0;
    }
    const file = new KeptFile("client", out, cwd, terminal);
    if (!check) return file.write(text);
    // Git may have changed the line breaks.
    return file.isUpToDate((await file.read()).replaceAll("\r\n", "\n") === text);
  },
});
