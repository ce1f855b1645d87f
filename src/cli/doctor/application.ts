import { hostOf } from "../../app/app.js";
import { type EngineProbe, enginesOf } from "../../engines/engine.js";
import { chooseTransport, describeTransport } from "../../server/choose-transport.js";
import { readEnvironment } from "../../server/environment.js";
import { planRun, type RunPlan } from "../../server/run-options.js";
import { collectIssues, settingSources } from "../../validation/settings.js";
import { type appOption, findApp, loadApp, noApplication, noting } from "../application.js";
import type { CommandCall } from "../command.js";
import { failureLine } from "../failure.js";
import type { Finding } from "./finding.js";

/** The settings of the application and its engines. Each stage needs those before it. */
export async function checkApplication(call: CommandCall<typeof appOption>): Promise<Finding[]> {
  const findings: Finding[] = [];
  const stage = async (subject: string, run: () => Promise<void>): Promise<boolean> => {
    try {
      await run();
      return true;
    } catch (error) {
      findings.push({ state: "wrong", subject, text: failureLine(error) });
      return false;
    }
  };
  const add = (state: Finding["state"], subject: string, text: string) => findings.push({ state, subject, text });
  await stage("application", async () => {
    const plan = planRun({}, {}, readEnvironment(call.env));
    add("ok", "server", describe(plan));
    const issues = new Set<string>();
    const load = async () => ((await findApp(call)) === undefined ? undefined : loadApp(call));
    const app = await collectIssues(issues, load).catch((error: unknown): undefined => {
      // Without its settings an application fails in many ways.
      if (issues.size === 0) throw error;
    });
    // The config file may read a setting of the application too.
    const given = new Set(settingSources().map(({ name, from }) => `${name} from ${from}`));
    if (given.size > 0) add("ok", "settings", [...given].join(", "));
    for (const issue of issues) add("wrong", "settings", issue);
    if (issues.size > 0) return;
    if (app === undefined) {
      add("-", "application", `not checked, ${noApplication(call)}`);
      return;
    }
    const host = hostOf(app);
    host.configure(plan.settings);
    app.logger = noting((text) => add("warning", "settings", text));
    if (!(await stage("settings", () => host.prepare()))) return;
    add("ok", "application", `${host.routes.length} routes`);
    const engines = enginesOf(host);
    if (engines.length > 0) call.terminal.note(`connecting to ${engines.map(({ name }) => name).join(", ")} ...`);
    findings.push(...(await Promise.all(engines.map(checkEngine))));
  });
  return findings;
}

async function checkEngine({ name: subject, required, probe }: EngineProbe): Promise<Finding> {
  try {
    await probe();
    return { state: "ok", subject, text: "reachable" };
  } catch (error) {
    return { state: required ? "wrong" : "warning", subject, text: failureLine(error) };
  }
}

function describe(plan: RunPlan): string {
  const { http2, settings } = plan;
  const chosen = chooseTransport(plan);
  const transport = describeTransport(chosen) + (chosen.origin === undefined ? "" : `, ${chosen.origin}`);
  const protocol = http2 === null ? "HTTP/1.1" : "HTTP/2 and HTTP/1.1";
  const workers = settings.workers === 1 ? "1 worker" : `${settings.workers} workers`;
  return `transport ${transport} (${protocol}), ${settings.env}, ${workers}, unless app.run() says otherwise`;
}
