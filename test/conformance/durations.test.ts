import { readdirSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse } from "../../scripts/declared-options.mjs";

const root = join(import.meta.dirname, "../..");

/** Names of lengths of time, as whole words of a name in camel case. */
const timeWords = new Set(
  [
    "after age backoff cooldown delay duration elapsed every expiration grace heartbeat hold idle interval keep lag latency",
    "lease leeway left lifetime ms patience pause period poll retention since stale throttle timeout took ttl uptime wait",
    "window within",
  ].flatMap((line) => line.split(" ")),
);

/** Types of options that users write. */
const optionTypes = /(?:Options|Config|Fields|Limits|Event)$/;

const inside = "inside, after the options were read: milliseconds";

/** Numbers that users do not give, with the reason. */
const allowed: Readonly<Record<string, string>> = {
  "src/apis/grpc/client/service-config.ts: backoffMultiplier": "a factor, by its name in the service config of gRPC",
  "src/apis/grpc/client/service-config.ts: timeout": "inside, after the options were read: seconds",
  "src/server/http2/fields.ts: streamWindow": "a number of bytes, by its name in RFC 9113",
  "src/server/http2/fields.ts: connectionWindow": "a number of bytes, by its name in RFC 9113",
  "src/batteries/metrics/http-metrics.ts: durationBuckets": "bounds of a histogram: seconds, as in its name",
  "src/migrations/event.ts: durationMs": "a result, not an option",
  "src/patterns/events/subscription.ts: skipAfter": "a number of failures",
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

/** Numbers of exported types that count no time, or whose unit is told elsewhere, with the reason. */
const otherNumbers: Readonly<Record<string, string>> = {
  "src/batteries/rooms/store.ts: RoomStore.since.after": "the id of a message",
  "src/batteries/sessions/memory-store.ts: MemorySessionStore.set.ttl": "SessionStore says it: seconds",
  "src/batteries/sessions/memory-store.ts: MemorySessionStore.touch.ttl": "SessionStore says it: seconds",
  "src/engines/db/database.ts: DatabaseStats.idle": "a number of connections",
  "src/engines/messaging/broker.ts: BrokerConsumer.lag": "a number of records",
  "src/engines/messaging/consume/consumer.ts: Subscription.lag": "a number of messages",
  "src/orm/nodes.ts: Query.windowsAfter": "a number of conditions",
  "src/websocket/channel.ts: ChannelLimits.heartbeat": inside,
  "src/websocket/send-queue.ts: SendLimits.sendTimeout": inside,
};

type Sources = ReadonlyMap<string, ts.SourceFile>;

let parsed: Sources | null = null;

function sources(): Sources {
  parsed ??= new Map(
    readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .map((file) => `src/${file.replaceAll("\\", "/")}`)
      .filter((file) => file.endsWith(".ts"))
      .map((file) => [file, parse(join(root, file))]),
  );
  return parsed;
}

describe("lengths of time in options", () => {
  it("Every option that is a length of time takes a Duration", () => {
    expect(sources().size).toBeGreaterThan(300);
    const found = [...sources()].flatMap(([file, source]) => wrongDurations(file, source));
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

describe("lengths of time in exported types", () => {
  it("Every number that is a length of time ends in Ms, or its comment says that it counts seconds", () => {
    expect(numbersWithoutUnit(sources()).sort()).toEqual(Object.keys(otherNumbers).sort());
  }, 300_000);

  it("The check finds numbers in properties, parameters, results and types that are not exported themselves", () => {
    const texts = {
      "src/entry/mail.ts": 'export type { Mail as Post } from "../mail.js";\nexport type { Sent } from "../sent.js";',
      "src/sent.ts": `
        export interface Sent {
          lag: number;
          lagMs: number;
          /** Seconds. */
          duration: number;
          wait: Duration;
        }
        export interface Internal { lag: number }`,
      "src/mail.ts": `
        import type { Limits } from "./limits.js";
        export abstract class Mail extends Base {
          static retryDelay = 5;
          #lease: number;
          private age: number;
          /** @internal */
          patience: number;
          constructor(readonly limits: Limits | null) { const pause = (wait: number) => wait; }
          send(text: string, timeout?: number, waitMs = 5): Promise<void>;
          /** Has \`keep\` in seconds, for the second time. */
          store(keep: number): void;
          /** Takes the milliseconds, not the seconds. */
          abstract hold(after: number): void;
          uptime(): Promise<number | null>;
        }
        class Base { readonly on: { idle(pause: (latency: number) => void): void } }`,
      "src/limits.ts": "export type Limits = Omit<Other, 'x'>;\ninterface Other { readonly ttl?: number | null }",
      "src/app.ts": 'declare module "./sent.js" { interface Sent { elapsed: number } }',
    };
    const made = Object.entries(texts).map(
      ([file, text]) => [file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)] as const,
    );
    expect(numbersWithoutUnit(new Map(made))).toEqual([
      "src/mail.ts: Base.on.idle.pause.latency",
      "src/mail.ts: Mail.retryDelay",
      "src/limits.ts: Other.ttl",
      "src/mail.ts: Mail.send.timeout",
      "src/mail.ts: Mail.hold.after",
      "src/mail.ts: Mail.uptime",
      "src/sent.ts: Sent.lag",
      "src/app.ts: Sent.elapsed",
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
  return isExported(node) && optionTypes.test(node.name.text);
}

function isExported(node: ts.Node): boolean {
  const modifiers = ts.canHaveModifiers(node) ? node.modifiers : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

function isTime(name: ts.Node): boolean {
  const words = ts.isIdentifier(name) ? name.text.split(/_|(?=[A-Z])/).map((word) => word.toLowerCase()) : [];
  return words.at(-1) !== "count" && words.some((word) => timeWords.has(word));
}

/**
 * Numbers that are lengths of time by their name and do not say their unit: in what the entries export, in the types that it
 * leads to, and in what modules add to them.
 */
function numbersWithoutUnit(all: Sources): string[] {
  const found = new Set<string>();
  const seen = new Set<ts.Node>();
  const names = new Map([...all].map(([file, source]) => [file, namesOf(file, source)]));
  const follow = (file: string, name: string): void => {
    for (const target of names.get(file)?.get(name) ?? []) {
      if ("from" in target) follow(target.from, target.name);
      else if (!seen.has(target)) visit(file, target);
    }
  };
  const visit = (file: string, node: ts.Node): void => {
    seen.add(node);
    const isCode = ts.isBlock(node) || (ts.isExpression(node) && !ts.isExpressionWithTypeArguments(node));
    if (isCode || isHidden(node)) return;
    if (canBeNumber(node) && isTime(node.name) && isNumber(node) && !saysUnit(node)) {
      found.add(`${file}: ${pathOf(node)}`);
    }
    const used = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node) && node.expression;
    if (used && ts.isIdentifier(used)) follow(file, used.text);
    ts.forEachChild(node, (child) => visit(file, child));
  };
  for (const [file, { statements }] of all) {
    if (file.startsWith("src/entry/")) for (const name of statements.flatMap(exportedNames)) follow(file, name);
    for (const statement of statements) if (ts.isModuleDeclaration(statement)) visit(file, statement);
  }
  return [...found];
}

interface Imported {
  readonly from: string;
  readonly name: string;
}

/** The declarations of a file, and the names that it has from other files. */
function namesOf(file: string, { statements }: ts.SourceFile): Map<string, (ts.Statement | Imported)[]> {
  const names = new Map<string, (ts.Statement | Imported)[]>();
  const add = (name: string, target: ts.Statement | Imported) => names.set(name, [...(names.get(name) ?? []), target]);
  for (const statement of statements) {
    if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) {
      const module = statement.moduleSpecifier;
      const list = ts.isImportDeclaration(statement) ? statement.importClause?.namedBindings : statement.exportClause;
      if (!module || !ts.isStringLiteral(module) || !list || !("elements" in list)) continue;
      const from = posix.join(file, "..", module.text).replace(/\.js$/, ".ts");
      for (const { name, propertyName } of list.elements) add(name.text, { from, name: (propertyName ?? name).text });
    } else {
      for (const name of declaredNames(statement)) add(name, statement);
    }
  }
  return names;
}

function exportedNames(statement: ts.Statement): string[] {
  if (ts.isExportDeclaration(statement)) {
    const list = statement.exportClause;
    return list && ts.isNamedExports(list) ? list.elements.map(({ name }) => name.text) : [];
  }
  return isExported(statement) ? declaredNames(statement) : [];
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  }
  const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
  const isNamed = isType || ts.isClassDeclaration(statement) || ts.isFunctionDeclaration(statement);
  return isNamed && statement.name ? [statement.name.text] : [];
}

/** True for members that users cannot reach. */
function isHidden(node: ts.Node): boolean {
  if (!ts.isClassElement(node) && !ts.isTypeElement(node) && !ts.isParameter(node)) return false;
  const modifiers = (ts.canHaveModifiers(node) && node.modifiers) || [];
  const isOwn = modifiers.some(
    ({ kind }) => kind === ts.SyntaxKind.PrivateKeyword || kind === ts.SyntaxKind.ProtectedKeyword,
  );
  return isOwn || (node.name !== undefined && ts.isPrivateIdentifier(node.name)) || /@internal\b/.test(commentOf(node));
}

type MaybeNumber = ts.SignatureDeclaration | ts.PropertyDeclaration | ts.PropertySignature | ts.ParameterDeclaration;

function canBeNumber(node: ts.Node): node is MaybeNumber & { name: ts.DeclarationName } {
  const isValue = ts.isPropertySignature(node) || ts.isPropertyDeclaration(node) || ts.isParameter(node);
  return (isValue || ts.isFunctionLike(node)) && node.name !== undefined;
}

function isNumber(node: MaybeNumber): boolean {
  const isNumberType = (type: ts.Node): boolean => {
    if (type.kind === ts.SyntaxKind.NumberKeyword) return true;
    // What these have inside is looked at for itself.
    return !ts.isTypeLiteralNode(type) && !ts.isFunctionTypeNode(type) && !!ts.forEachChild(type, isNumberType);
  };
  if (node.type) return isNumberType(node.type);
  return "initializer" in node && node.initializer !== undefined && ts.isNumericLiteral(node.initializer);
}

function saysUnit(node: MaybeNumber & { name: ts.DeclarationName }): boolean {
  const comment = commentOf(node) + (ts.isParameter(node) ? commentOf(node.parent) : "");
  return (
    /(?:^ms|Ms|_ms|[sS]econds)$/.test(node.name.getText()) || (/\bseconds\b/i.test(comment) && !/millis/i.test(comment))
  );
}

/** The name of a member behind those of what it belongs to. */
function pathOf(node: ts.Node): string {
  const name = ts.getNameOfDeclaration(node as ts.Declaration)?.getText();
  const owner = node.parent && !ts.isModuleBlock(node.parent) ? pathOf(node.parent) : undefined;
  return [owner, name].filter(Boolean).join(".");
}

function commentOf(node: ts.Node): string {
  return ts
    .getJSDocCommentsAndTags(node)
    .map((comment) => comment.getText())
    .join();
}
