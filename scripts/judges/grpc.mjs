/**
 * Independent clients against the gRPC server: the interoperability client of grpc-go (14 cases), grpcurl, ghz, `buf curl` and
 * grpcio of Python; the same 14 cases from the client to the interoperability server of grpc-go. Programs in Go are built once,
 * which takes minutes, and kept.
 *
 *     node --import tsx scripts/judges/grpc.mjs [folder of the Go programs]
 *
 * `BUF` names the program buf (npm: @bufbuild/buf), `PYTHON` a Python with the package grpcio; without them these two are left out.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { root } from "../process.mjs";
import { clientCases } from "./grpc-client.mjs";

const execute = promisify(execFile);
const folder = process.argv[2] ?? join(root, "node_modules", ".cache", "stoa", "grpc");
const modules = {
  client: "google.golang.org/grpc/interop/client",
  server: "google.golang.org/grpc/interop/server",
  grpcurl: "github.com/fullstorydev/grpcurl/cmd/grpcurl",
  ghz: "github.com/bojand/ghz/cmd/ghz",
};
for (const [name, module] of Object.entries(modules)) {
  if (existsSync(join(folder, name))) continue;
  console.log(`building ${name} ...`);
  await execute("go", ["install", `${module}@latest`], { env: { ...process.env, GOBIN: folder } });
}

const { App } = await import("stoa");
const { GrpcChannel } = await import("stoa/grpc");
const { addInterop, interopProto } = await import("../../test/apis/grpc/fixtures/interop.ts");
const app = new App();
app.enableGrpc({ address: "127.0.0.1:0", reflection: true, enableWeb: true });
addInterop(app);
const server = await app.run({ port: 0, exit: false, logs: false });
const target = app.grpc.address;
const port = target.split(":").at(-1);
const service = "grpc.testing.TestService";
let failed = 0;

async function judge(name, work) {
  try {
    await work();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed++;
    console.log(
      `FAILED  ${name}: ${String(error.stderr || error.message)
        .trim()
        .split("\n")
        .at(-1)}`,
    );
  }
}

const run = async (name, ...args) => (await execute(name, args, { timeout: 60_000 })).stdout;

/** Resolves when a server listens at a port. */
function listening(at) {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(at), "127.0.0.1", () => resolve(socket.destroy()));
    socket.on("error", reject);
  });
}

// One of the cases passes without a server.
await listening(port);

const cases =
  "empty_unary large_unary client_streaming server_streaming ping_pong empty_stream timeout_on_sleeping_server " +
  "cancel_after_begin cancel_after_first_response custom_metadata status_code_and_message special_status_message " +
  "unimplemented_method unimplemented_service";
for (const name of cases.split(" ")) {
  await judge(`grpc-go ${name}`, () =>
    run(join(folder, "client"), "-server_host=127.0.0.1", `-server_port=${port}`, `-test_case=${name}`),
  );
}

const otherPort = await freePort();
const other = spawn(join(folder, "server"), [`-port=${otherPort}`], { stdio: "ignore" });
for (
  let i = 0;
  i < 100 &&
  !(await listening(otherPort).then(
    () => true,
    () => false,
  ));
  i++
)
  await setTimeout(100);
const channel = new GrpcChannel(`127.0.0.1:${otherPort}`);
for (const [name, work] of Object.entries(clientCases(channel, interopProto))) {
  await judge(`the client and the server of grpc-go: ${name}`, work);
}
await channel.close();
other.kill();

const grpcurl = (...args) => run(join(folder, "grpcurl"), "-plaintext", ...args);
await judge("grpcurl lists services by reflection", async () => {
  assert.match(await grpcurl(target, "list"), /grpc\.testing\.TestService/);
});
await judge("grpcurl calls a method", async () => {
  assert.match(await grpcurl("-d", '{"response_size": 4}', target, `${service}/UnaryCall`), /AAAAAA==/);
});
await judge("grpcurl asks for health", async () => {
  assert.match(await grpcurl(target, "grpc.health.v1.Health/Check"), /SERVING/);
});
await judge("ghz makes 5,000 calls without an error", async () => {
  const args = [
    "--insecure",
    "--call",
    `${service}.UnaryCall`,
    "-d",
    '{"response_size":100}',
    "-c",
    "32",
    "-n",
    "5000",
  ];
  const report = JSON.parse(await run(join(folder, "ghz"), ...args, "--connections", "2", "-O", "json", target));
  assert.deepEqual(report.statusCodeDistribution, { OK: 5000 });
});

if (process.env.BUF) {
  for (const protocol of ["grpc", "grpcweb", "connect"]) {
    await judge(`buf curl over ${protocol}`, async () => {
      const url = `http://${target}/${service}/UnaryCall`;
      const args = ["curl", "--http2-prior-knowledge", "--protocol", protocol, "-d", '{"responseSize":3}', url];
      assert.match(await run(process.env.BUF, ...args), /AAAA/);
    });
  }
}

if (process.env.PYTHON) {
  await judge("grpcio of Python makes calls of all four kinds", async () => {
    const program = join(mkdtempSync(join(tmpdir(), "stoa-grpc-")), "judge.py");
    writeFileSync(program, python());
    assert.match(await run(process.env.PYTHON, program, target), /all four/);
  });
}

await server.close();
console.log(failed === 0 ? "all passed" : `${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function freePort() {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port: free } = taken.address();
  taken.close();
  return free;
}

/** Messages as bytes: no generated code is needed. */
function python() {
  assert.ok(interopProto.includes("StreamingOutputCall"));
  return `
import sys, grpc
channel = grpc.insecure_channel(sys.argv[1])
same = lambda value: value
path = "/grpc.testing.TestService/"
assert channel.unary_unary(path + "UnaryCall", same, same)(b"\\x10\\x04", timeout=10) == b"\\x0a\\x06\\x12\\x04" + bytes(4)
out = b"\\x12\\x02\\x08\\x01" * 3
assert len(list(channel.unary_stream(path + "StreamingOutputCall", same, same)(out, timeout=10))) == 3
payload = b"\\x0a\\x04\\x12\\x02ab"
assert channel.stream_unary(path + "StreamingInputCall", same, same)(iter([payload, payload]), timeout=10) == b"\\x08\\x04"
assert len(list(channel.stream_stream(path + "FullDuplexCall", same, same)(iter([out, out]), timeout=10))) == 6
try:
    channel.unary_unary(path + "UnimplementedCall", same, same)(b"", timeout=10)
    raise SystemExit("no error")
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED
print("all four")
`;
}
