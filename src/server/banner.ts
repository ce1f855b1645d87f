import { chooseTransport, describeTransport } from "./choose-transport.js";
import type { RunPlan } from "./run-options.js";
import type { RunTarget } from "./run-target.js";
import type { ListenAddress } from "./transport.js";

export type Links = ReturnType<RunTarget["links"]>;

/** The address as a client on this machine would write it. */
export function urlOf(address: ListenAddress, secure: boolean): string {
  if (address.path !== undefined) return `unix:${address.path}`;
  const unspecified = address.host === "0.0.0.0" || address.host === "::";
  const host = unspecified ? "localhost" : address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${secure ? "https" : "http"}://${host}:${address.port}`;
}

/** Says that the server listens: one log line in production, so that programs can parse the log; else a banner. */
export function announce(target: RunTarget, plan: RunPlan, address: ListenAddress, links: Links): void {
  const url = urlOf(address, plan.tls !== null);
  const { env, debug, workers } = plan.settings;
  if (env === "production") {
    const transport = describeTransport(chooseTransport(plan));
    target.logger.info(`listening on ${url}`, { url, env, debug, workers, transport, pid: process.pid });
  } else {
    process.stdout.write(banner(plan, address, links, process.stdout.isTTY === true && !process.env["NO_COLOR"]));
  }
}

export function banner(plan: RunPlan, address: ListenAddress, links: Links, colour: boolean): string {
  const url = urlOf(address, plan.tls !== null);
  const { env, debug, workers, name = "Stoa" } = plan.settings;
  const paint = (code: number, text: string): string => (colour ? `\x1b[${code}m${text}\x1b[0m` : text);
  const rows: (readonly [string, string])[] = links.map(([label, path]) => [
    label,
    address.path === undefined ? paint(36, `${url}${path}`) : path,
  ]);
  if (address.host === "0.0.0.0" || address.host === "::") rows.push(["Bound to", `${address.host}, every interface`]);
  rows.push(["Mode", `${env}, debug ${debug ? "on" : "off"}${plan.reload ? ", reload on" : ""}`]);
  rows.push(["Workers", workers === 1 ? `1 (pid ${process.pid})` : `${workers} (supervisor pid ${process.pid})`]);
  rows.push(["Transport", describeTransport(chooseTransport(plan))]);
  if (process.stdout.isTTY) rows.push(["Stop", "Ctrl+C"]);
  const width = Math.max(...rows.map(([label]) => label.length)) + 2;
  const lines = rows.map(([label, text]) => `  ${paint(2, label.padEnd(width))}${text}`);
  return `\n${name} is listening on ${paint(36, url)}\n\n${lines.join("\n")}\n\n`;
}
