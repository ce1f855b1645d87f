/**
 * Judges the servers and the client of gRPC by the conformance suite of Connect: Connect, gRPC-Web and gRPC over HTTP/1.1 and
 * HTTP/2, with TLS and without, at the port of the application and at that of `enableGrpc`; the client over gRPC.
 *
 *     node scripts/judges/connect.mjs <connectconformance> <folder of its .proto files> [pattern of cases]
 */
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../process.mjs";

const [suite, protos, pattern] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "stoa-connect-"));
// What is not named is supported: all protocols, streams and codecs, HTTP/1.1 and HTTP/2, TLS, GET, limits of messages.
const server = {
  compressions: ["COMPRESSION_IDENTITY", "COMPRESSION_GZIP", "COMPRESSION_DEFLATE"],
  supports_tls_client_certs: true,
  supports_half_duplex_bidi_over_http1: true,
};
// It compresses with gzip alone.
const client = {
  versions: ["HTTP_VERSION_2"],
  protocols: ["PROTOCOL_GRPC"],
  codecs: ["CODEC_PROTO"],
  supports_tls_client_certs: true,
};
const judged = [
  ["server", "application", server],
  ["server", "grpc", server],
  ["client", "", client],
];

let failed = 0;
for (const [mode, port, features] of judged) {
  const config = join(folder, `${mode}-${port}.json`);
  // JSON is YAML too.
  writeFileSync(config, JSON.stringify({ features }));
  console.log(`${mode} ${port}`);
  const program = fileURLToPath(new URL(`connect/${mode}.mjs`, import.meta.url));
  const args = ["--mode", mode, "--max-servers", "1", "--conf", config, ...(pattern ? ["--run", pattern] : [])];
  const command = [process.execPath, "--import", "tsx", program, protos, port];
  const run = spawn(suite, [...args, "--", ...command], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if ((await new Promise((resolve) => run.on("close", resolve))) !== 0) failed++;
}
process.exit(failed === 0 ? 0 : 1);
