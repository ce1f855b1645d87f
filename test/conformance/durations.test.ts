import { readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse } from "../../scripts/declared-options.mjs";

const root = join(import.meta.dirname, "../..");

/** Names of lengths of time, as whole words of a name in camel case. */
const timeWords =
  /^(?:timeout|delay|ttl|interval|age|lifetime|wait|window|lease|poll|backoff|retention|expiration|grace|leeway|patience|every|heartbeat|ms)$/;

/** Types of options that users write. */
const optionTypes = /(?:Options|Config|Fields|Limits|Event)$/;

const inside = "inside, after the options were read: milliseconds";

/** Numbers that users do not give, with the reason. */
const allowed: Readonly<Record<string, string>> = {
  "src/apis/grpc/client/service-config.ts: backoffMultiplier": "a factor, by its name in the service config of gRPC",
  "src/apis/grpc/client/service-config.ts: timeout": "inside, after the options were read: seconds",
  "src/server/http2/fields.ts: streamWindow": "a number of bytes, by its name in RFC 9113",
  "src/server/http2/fields.ts: connectionWindow": "a number of bytes, by its name in RFC 9113",
  "src/websocket/channel.ts: heartbeat": inside,
  "src/websocket/send-queue.ts: sendTimeout": inside,
  "src/websocket/ws.ts: closeTimeout": "the interface of ws, in milliseconds",
  "src/batteries/metrics/worker-metrics.ts: patience": inside,
  "src/batteries/rate-limit/adaptive-limit.ts: latencyMs": inside,
  "src/batteries/rate-limit/adaptive-limit.ts: windowMs": inside,
  "src/batteries/rooms/store.ts: keepMs": inside,
  "src/engines/kvstore/commands/runner.ts: blockMs": inside,
  "src/engines/db/pool/pool.ts: acquireTimeout": inside,
  "src/engines/db/pool/pool.ts: idleTimeout": inside,
  "src/engines/db/pool/pool.ts: maxLifetime": inside,
  "src/engines/db/postgres/pg-module.ts: keepAliveInitialDelayMillis": "the interface of pg, in milliseconds",
  "src/kit/bounded-fetch.ts: timeout": inside,
  "src/migrations/executor.ts: tableLockMs": inside,
  "src/migrations/lock.ts: timeoutMs": inside,
  "src/patterns/events/config.ts: snapshotInterval": "a number of events, by its name in the contract",
};

describe("lengths of time in options", () => {
  it("Every option that is a length of time takes a Duration", () => {
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .map((file) => `src/${file.replaceAll("\\", "/")}`)
      .filter((file) => file.endsWith(".ts"));
    expect(files.length).toBeGreaterThan(300);
    const found = files.flatMap((file) => wrongDurations(file, parse(join(root, file))));
    expect(found.sort()).toEqual(Object.keys(allowed).sort());
  }, 300_000);

  it("The check finds a time that is a number, in a declaration and in an interface", () => {
    const text = `
      export interface MailOptions { sendTimeout?: number; maxAgents?: number; retentionCount?: number; wait?: Duration }
      const mail = options("mail()", { retryDelay: option(is.number(0), 3), pause: option.duration("1s"), ttlMs: option(is.integer(), 1) });`;
    const source = ts.createSourceFile("mail.ts", text, ts.ScriptTarget.Latest, true);
    expect(wrongDurations("mail.ts", source)).toEqual([
      "mail.ts: sendTimeout",
      "mail.ts: retryDelay",
      "mail.ts: ttlMs",
    ]);
  });
});

function wrongDurations(file: string, source: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node, inOptions: boolean): void => {
    const within = inOptions || isOptionType(node);
    if (within && ts.isPropertySignature(node) && isTime(node.name)) {
      if (/\bnumber\b/.test(node.type?.getText(source) ?? "")) found.push(`${file}: ${node.name.getText(source)}`);
    }
    if (ts.isPropertyAssignment(node) && isTime(node.name)) {
      if (/^option(?:\.\w+)?\(\s*is\.(?:number|integer)\b/.test(node.initializer.getText(source))) {
        found.push(`${file}: ${node.name.getText(source)}`);
      }
    }
    ts.forEachChild(node, (child) => visit(child, within));
  };
  visit(source, false);
  return found;
}

function isOptionType(node: ts.Node): boolean {
  if (!ts.isInterfaceDeclaration(node) && !ts.isTypeAliasDeclaration(node)) return false;
  const isExported = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
  return isExported && optionTypes.test(node.name.text);
}

function isTime(name: ts.PropertyName): boolean {
  const words = ts.isIdentifier(name) ? name.text.split(/_|(?=[A-Z])/).map((word) => word.toLowerCase()) : [];
  return words.at(-1) !== "count" && words.some((word) => timeWords.test(word));
}
