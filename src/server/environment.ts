import { readSwitch, readText, type Steering } from "./command-line.js";
import { StartError } from "./start-error.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** The server's options from the environment; an empty variable counts as absent. */
export function readEnvironment(variables: Environment): Partial<Steering> {
  const options: Record<string, unknown> = {};
  const texts = [
    ["host", "STOA_HOST"],
    ["port", "PORT"],
    ["port", "STOA_PORT"],
    ["env", "STOA_ENV"],
    ["workers", "STOA_WORKERS"],
    ["transport", "STOA_TRANSPORT"],
  ] as const;
  if (variables["NODE_ENV"] === "production" || variables["NODE_ENV"] === "development") {
    options["env"] = variables["NODE_ENV"];
  }
  for (const [name, variable] of texts) {
    const text = variables[variable];
    if (text && !isServiceLink(text)) options[name] = readText(variable, name, text);
  }
  for (const name of ["debug", "reload", "logs", "http2"] as const) {
    const variable = `STOA_${name.toUpperCase()}`;
    const text = variables[variable];
    if (!text) continue;
    options[name] = readSwitch(text);
    if (options[name] === undefined) {
      throw new StartError(`${variable} must be true or false, not ${JSON.stringify(text)}`);
    }
  }
  return options;
}

/**
 * Kubernetes gives every pod `<SERVICE>_PORT=tcp://10.0.0.1:80` for each service: one named "stoa" would otherwise
 * keep the server from starting.
 */
function isServiceLink(text: string): boolean {
  return text.startsWith("tcp://") || text.startsWith("udp://");
}
