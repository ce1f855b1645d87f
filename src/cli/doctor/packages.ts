import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { packageFolder } from "../../kit/package-folder.js";
import type { Finding } from "./finding.js";

/** The features that need an optional package. Which packages there are, and their versions, is in the manifest. */
const users: Readonly<Record<string, string>> = {
  "@aws-sdk/client-sns": "fanOut of enableCloudQueue()",
  "@aws-sdk/client-sqs": "enableCloudQueue()",
  "@bufbuild/protobuf": "enableGrpc(), messages in Protobuf",
  "@electric-sql/pglite": "a database with the URL pglite:",
  "@opentelemetry/api": "libraries that make spans by the API of OpenTelemetry",
  "@platformatic/kafka": "enableMessaging()",
  amqplib: "enableAmqp()",
  avsc: "messages in Avro",
  fzstd: "messages of Kafka with zstd before Node 22.15",
  graphql: "enableGraphql()",
  ioredis: "enableKvstore()",
  pg: "a database with the URL postgres:",
};

interface Manifest {
  readonly version: string;
  readonly engines?: { readonly node?: string };
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Node, Stoa and the optional packages. `node` is the version that runs. */
export async function checkPackages(node = process.version, folder = packageFolder()): Promise<Finding[]> {
  const own = (await readManifest(folder))!;
  const wanted = own.engines?.node ?? "";
  const isOld = !fits(node, wanted);
  const cure = `: install a newer Node.js, https://nodejs.org`;
  return [
    { state: isOld ? "wrong" : "ok", subject: "node", text: `${node}, Stoa needs ${wanted}${isOld ? cure : ""}` },
    { state: "ok", subject: "stoa", text: own.version },
    ...(await Promise.all(
      Object.entries(own.peerDependencies ?? {}).map(async ([name, range]) =>
        judge(name, range, await findManifest(name, folder), node),
      ),
    )),
  ];
}

function judge(subject: string, range: string, found: Manifest | null, node: string): Finding {
  const user = users[subject] ?? "Stoa";
  if (found === null) return { state: "-", subject, text: `not installed; it is for ${user}` };
  const { version, engines } = found;
  if (!fits(version, range)) {
    const text = `${version} does not fit ${user}, which needs ${range}: npm install '${subject}@${range}'`;
    return { state: "wrong", subject, text };
  }
  const least = engines?.node ?? "";
  if (fits(node, least)) return { state: "ok", subject, text: `${version} for ${user}` };
  return { state: "warning", subject, text: `${version} asks for Node ${least}, and this is ${node}: update Node.js` };
}

/** The manifest of the package that an import in this folder finds. */
async function findManifest(name: string, folder: string): Promise<Manifest | null> {
  const found = await readManifest(join(folder, "node_modules", name));
  const parent = dirname(folder);
  return found ?? (parent === folder ? null : findManifest(name, parent));
}

async function readManifest(folder: string): Promise<Manifest | null> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => null);
  return text === null ? null : (JSON.parse(text) as Manifest);
}

/** True if a version lies in a range of the forms `^1.2.3`, `~1.2.3` and `>=1.2.3`. Other ranges count as met: npm checks them. */
export function fits(version: string, range: string): boolean {
  const [, kind, least = ""] = /^(\^|~|>=)\s*(\d+(?:\.\d+){0,2})$/.exec(range.trim()) ?? [];
  if (kind === undefined) return true;
  const [has, wants] = [numbers(version), numbers(least)];
  if (compare(has, wants) < 0) return false;
  if (kind === ">=") return true;
  // ^ fixes the first number that is not zero, ~ the first two.
  const fixed = kind === "~" ? 2 : wants.findIndex((number) => number > 0) + 1;
  return has.slice(0, fixed).join() === wants.slice(0, fixed).join();
}

function numbers(version: string): number[] {
  const [major = 0, minor = 0, patch = 0] = version.replace(/^v/, "").split(/[.+-]/).map(Number);
  return [major, minor, patch];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const differs = a.findIndex((number, place) => number !== b[place]);
  return differs === -1 ? 0 : a[differs]! - b[differs]!;
}
