import { appOption } from "../application.js";
import { defineCommand } from "../command.js";
import { checkApplication } from "../doctor/application.js";
import { checkPackages } from "../doctor/packages.js";
import { tableLines } from "../shown.js";

export const doctor = defineCommand({
  summary: "Checks versions, optional packages, settings, and whether the engines can be reached.",
  options: appOption,
  details: `
The application is loaded and its settings are checked as at a start. Then its database, key-value store and brokers are connected
and closed again; no startup hook runs, and no table is created. The exit code is 1 if something is wrong; warnings do not count.

Examples:
  stoa doctor --app src/app.ts
  STOA_ENV=production stoa doctor      # with the settings of production`,
  async run(call) {
    const { terminal } = call;
    const findings = [...(await checkPackages()), ...(await checkApplication(call))];
    const rows = findings.map(({ state, subject, text }) => [state, subject, text]);
    for (const line of tableLines([["STATE", "SUBJECT", "FINDING"], ...rows])) terminal.print(line);
    return findings.some(({ state }) => state === "wrong") ? 1 : 0;
  },
});
