/**
 * CPU time of the server per call and per message: Stoa against a bare server of @grpc/grpc-js, with the same service and the
 * same client. `node bench/grpc.mjs [rounds]` after `npm run build`. The sides alternate; the figures are medians of the
 * rounds, with the lowest and the highest.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import http2 from "node:http2";
import { median } from "./lib/statistics.mjs";
import { stoaEntry } from "./lib/stoa-build.mjs";

const proto = `
syntax = "proto3";
package bench;
message Item { string name = 1; int32 number = 2; repeated int32 values = 3; bytes payload = 4; }
service Bench {
  rpc Unary(Item) returns (Item);
  rpc Download(Item) returns (stream Item);
  rpc Upload(stream Item) returns (Item);
}
`;
const messagesPerStream = 1000;
const item = (number) => ({
  name: "an item with a name",
  number,
  values: [1, 2, 3, 500],
  payload: Buffer.alloc(40, 1),
});

const sides = {
  async stoa() {
    const { App } = await stoaEntry();
    const app = new App();
    app.enableGrpc({ address: "127.0.0.1:0", health: false, reflection: false });
    app.addGrpcService(
      "bench.Bench",
      {
        Unary: (message) => message,
        async *Download() {
          for (let number = 0; number < messagesPerStream; number++) yield item(number);
        },
        async Upload(messages) {
          let number = 0;
          for await (const message of messages) number += message.number > 0 ? 1 : 0;
          return { name: "sum", number };
        },
      },
      { proto },
    );
    await app.run({ port: 0, exit: false, logs: false, env: "production" });
    return Number(app.grpc.address.split(":").at(-1));
  },
  async grpcjs() {
    const grpc = await import("@grpc/grpc-js");
    const { default: protobuf } = await import("protobufjs");
    const type = protobuf.parse(proto).root.lookupType("bench.Item");
    const encode = (message) => type.encode(type.fromObject(message)).finish();
    const decode = (bytes) => type.toObject(type.decode(bytes), { defaults: true });
    const method = (name, requestStream, responseStream) => ({
      path: `/bench.Bench/${name}`,
      requestStream,
      responseStream,
      requestSerialize: encode,
      requestDeserialize: decode,
      responseSerialize: encode,
      responseDeserialize: decode,
    });
    const server = new grpc.Server();
    server.addService(
      {
        Unary: method("Unary", false, false),
        Download: method("Download", false, true),
        Upload: method("Upload", true, false),
      },
      {
        Unary: (call, callback) => callback(null, call.request),
        async Download(call) {
          for (let number = 0; number < messagesPerStream; number++) {
            if (!call.write(item(number))) await once(call, "drain");
          }
          call.end();
        },
        async Upload(call, callback) {
          let number = 0;
          for await (const message of call) number += message.number > 0 ? 1 : 0;
          callback(null, { name: "sum", number });
        },
      },
    );
    return new Promise((resolve, reject) => {
      const insecure = grpc.ServerCredentials.createInsecure();
      server.bindAsync("127.0.0.1:0", insecure, (error, port) => (error ? reject(error) : resolve(port)));
    });
  },
};

const [given = "7"] = process.argv.slice(2);
if (given in sides) await serve(await sides[given]());
else await compare(Number(given));

/** Reports the microseconds of CPU since the last question. */
function serve(port) {
  let before = process.cpuUsage();
  process.on("message", () => {
    const { user, system } = process.cpuUsage(before);
    process.send({ cpu: user + system });
    before = process.cpuUsage();
  });
  process.send({ port });
}

async function compare(rounds) {
  const servers = new Map();
  for (const side of Object.keys(sides)) {
    const child = spawn(process.execPath, [new URL(import.meta.url).pathname, side], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const [{ port }] = await once(child, "message");
    servers.set(side, { child, port });
  }
  const works = {
    "unary call": (port) => calls(port, "Unary", 6000, frame(1)),
    "message of a server stream": (port) => calls(port, "Download", 40, frame(1)).then((n) => n * messagesPerStream),
    "message of a client stream": (port) => calls(port, "Upload", 40, upload).then((n) => n * messagesPerStream),
  };
  for (const [name, work] of Object.entries(works)) {
    const figures = { stoa: [], grpcjs: [] };
    for (let round = -1; round < rounds; round++) {
      for (const [side, { child, port }] of servers) {
        await cpuOf(child);
        const done = await work(port);
        const cpu = (await cpuOf(child)) / done;
        if (round >= 0) figures[side].push(cpu);
      }
    }
    const ratios = figures.stoa.map((cpu, i) => cpu / figures.grpcjs[i]);
    console.log(`${name}: stoa ${show(figures.stoa)} us, grpc-js ${show(figures.grpcjs)} us, ratio ${show(ratios)}`);
  }
  for (const { child } of servers.values()) child.kill();
}

async function cpuOf(child) {
  const answer = once(child, "message");
  child.send("cpu");
  return (await answer)[0].cpu;
}

function show(values) {
  const digits = (value) => value.toFixed(2);
  return `${digits(median(values))} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`;
}

/** The message in the wire format, written by hand: the client must not be the bottleneck. */
function frame(number) {
  const name = Buffer.from("an item with a name");
  const body = Buffer.concat([
    Buffer.from([0x0a, name.length]),
    name,
    Buffer.from([0x10, number, 0x1a, 5, 1, 2, 3, 0xf4, 3, 0x22, 40]),
    Buffer.alloc(40, 1),
  ]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

/** Each message as a write of its own, as clients send them. */
function upload(stream) {
  const message = frame(1);
  let left = messagesPerStream;
  const write = () => {
    while (left > 0) {
      left--;
      if (!stream.write(message)) return stream.once("drain", write);
    }
    return stream.end();
  };
  write();
}

/** Makes calls on two connections, sixteen at a time on each. Resolves to their number. */
async function calls(port, name, count, body) {
  const sessions = [0, 1].map(() => http2.connect(`http://127.0.0.1:${port}`));
  let started = 0;
  const worker = async (session) => {
    while (started++ < count) await call(session, name, body);
  };
  const width = name === "Unary" ? 16 : 2;
  await Promise.all(sessions.flatMap((session) => Array.from({ length: width }, () => worker(session))));
  for (const session of sessions) session.close();
  return count;
}

function call(session, name, body) {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": `/bench.Bench/${name}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    let status;
    stream.on("response", (headers) => (status = headers["grpc-status"]));
    stream.on("trailers", (trailers) => (status = trailers["grpc-status"]));
    stream.on("error", reject);
    stream.on("data", () => {});
    stream.on("close", () => (Number(status) === 0 ? resolve() : reject(new Error(`status ${status}`))));
    if (typeof body === "function") body(stream);
    else stream.end(body);
  });
}
