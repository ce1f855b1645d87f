import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nodeCrypto, nodeOs } from "../../kit/node-modules.js";
import { packageFolder } from "../../kit/package-folder.js";
import type { AttributeValue } from "../../kit/tracer.js";
import { defaultServiceName, type OpenTelemetryConfig } from "./config.js";
import type { Environment } from "./environment.js";
import type { InstrumentationScope } from "./trace/context.js";

/** The library of the framework's own spans and metrics. */
export function frameworkScope(): InstrumentationScope {
  return { name: "stoa", version: frameworkVersion() };
}

/**
 * The attributes of this process. Each worker is a separate instance: it exports its own counts, and a backend adds
 * them up. So no worker waits for another, and a worker that dies takes nothing with it.
 */
export function resourceAttributes(
  config: OpenTelemetryConfig,
  serviceName: string,
  env: Environment,
): [name: string, value: AttributeValue][] {
  const attributes: Record<string, AttributeValue> = {
    "service.instance.id": nodeCrypto().randomUUID(),
    "telemetry.sdk.name": "stoa",
    "telemetry.sdk.language": "nodejs",
    "telemetry.sdk.version": frameworkVersion(),
    "host.name": nodeOs().hostname(),
    "process.pid": process.pid,
    "process.runtime.name": "nodejs",
    "process.runtime.version": process.versions.node,
    ...env.pairs("OTEL_RESOURCE_ATTRIBUTES"),
    ...config.resourceAttributes,
  };
  // The name in OTEL_RESOURCE_ATTRIBUTES is used if it is given nowhere else.
  if (serviceName !== defaultServiceName) attributes["service.name"] = serviceName;
  else attributes["service.name"] ??= serviceName;
  return Object.entries(attributes);
}

let version: string | undefined;

function frameworkVersion(): string {
  return (version ??= readVersion());
}

function readVersion(): string {
  try {
    const text = readFileSync(join(packageFolder(), "package.json"), "utf8");
    return String((JSON.parse(text) as { version?: unknown }).version ?? "");
  } catch {
    // The package was bundled into a file of the application.
    return "";
  }
}
