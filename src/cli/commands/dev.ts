import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, relative } from "node:path";
import type { App } from "../../app/app.js";
import { createKeeper } from "../../app/features.js";
import { ValueError } from "../../kit/value-error.js";
import { parentLink } from "../../server/process/parent-link.js";
import { reloadForever } from "../../server/process/reload.js";
import { StartError, startReport } from "../../server/start-error.js";
import { appOption, loadApp } from "../application.js";
import type { OptionSpecs } from "../arguments.js";
import { clientFile } from "../client/client-file.js";
import { type CommandCall, defineCommand } from "../command.js";
import { loadConfig } from "../config.js";
import { failureLine } from "../failure.js";

const options = {
  host: { kind: "text", value: "ADDRESS", help: "the address to listen on (127.0.0.1)" },
  port: { kind: "number", value: "N", help: "the port to listen on; 0 for any that is free (8000)" },
  ...appOption,
} as const satisfies OptionSpecs;

type DevCall = CommandCall<typeof options>;

export const dev = defineCommand({
  summary: "Runs the application and starts it again after each change of a source file.",
  options,
  details: `
Requests that arrive during a restart wait for it. After an error the cause is shown, also to clients, and the next change starts the
application again. An embedded database (pglite:./data) stays open, and \`stoa migrate\` and \`stoa db\` can use it meanwhile. If
stoa.config.ts names a file with \`client\`, the typed client in it is kept up to date.

Examples:
  stoa dev
  stoa dev --app src/app.ts --port 9000`,
  async run(call) {
    if (parentLink?.role === "reload") return serve(call);
    const { cwd } = call;
    return reloadForever({ args: process.argv.slice(1), folders: [cwd] }, createKeeper);
  },
});

/** The child of the reloader: `run` of the application reads the host and the port from the command line. */
async function serve(call: DevCall): Promise<never> {
  process.setSourceMapsEnabled(true);
  try {
    const app = await loadApp(call);
    await app.run();
    await keepClient(call, app).catch((error) =>
      call.terminal.note(`stoa: the client is not written: ${failureLine(error)}`),
    );
  } catch (error) {
    const thrown = error instanceof ValueError && error.cause !== undefined ? error.cause : error;
    await parentLink?.send({ stoa: "failed", reason: startReport(thrown), code: !(error instanceof StartError) });
    process.exit(1);
  }
  return new Promise(() => {});
}

/** Writes the client that the config names, if it is out of date. */
async function keepClient({ cwd, options, terminal }: DevCall, app: App): Promise<void> {
  const { client } = await loadConfig(cwd, options.config);
  if (client === undefined) return;
  const text = clientFile(await app.openapi());
  if (text === (await readFile(client, "utf8").catch(() => null))) return;
  await parentLink?.send({ stoa: "wrote", path: client });
  await mkdir(dirname(client), { recursive: true });
  await writeFile(client, text);
  terminal.note(`stoa: wrote ${relative(cwd, client)}`);
}
