/**
 * CPU time of the server per request over HTTP/2 without TLS: Stoa against Fastify on http2, and a bare node:http2 server
 * that sends the same bytes. `node bench/http2.mjs [rounds]` after `npm run build`; the packages of bench/ must be
 * installed (`npm run bench` does that). The load comes from this process: two connections with 32 streams each.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:http2";
import { median } from "./lib/statistics.mjs";
import { stoaEntry } from "./lib/stoa-build.mjs";

const requestsPerRound = 20_000;
const connections = 2;
const streams = 32;
const book = {
  id: 7,
  title: "The Left Hand of Darkness",
  author: "Ursula K. Le Guin",
  year: 1969,
  tags: ["sf", "novel"],
};

const sides = {
  async stoa() {
    const { App } = await stoaEntry();
    const app = new App();
    app.get("/books/{id}", () => book);
    app.post("/echo", (request) => request.json());
    const server = await app.run({ port: 0, exit: false, env: "production", logs: false, http2: true });
    return server.address.port;
  },
  async fastify() {
    const { default: fastify } = await import("fastify");
    const app = fastify({ http2: true, logger: false });
    app.get("/books/:id", async () => book);
    app.post("/echo", async (request) => request.body);
    await app.listen({ port: 0, host: "127.0.0.1" });
    return app.server.address().port;
  },
  async bare() {
    const { createServer } = await import("node:http2");
    const server = createServer();
    server.on("stream", (stream, headers) => {
      if (headers[":method"] === "GET") return respond(stream, JSON.stringify(book));
      const pieces = [];
      stream.on("data", (piece) => pieces.push(piece));
      stream.on("end", () => respond(stream, JSON.stringify(JSON.parse(Buffer.concat(pieces).toString()))));
    });
    const respond = (stream, text) => {
      stream.respond({ ":status": 200, "content-type": "application/json", "content-length": Buffer.byteLength(text) });
      stream.end(text);
    };
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server.address().port;
  },
};

const workloads = {
  "GET /books/7": { headers: { ":path": "/books/7" } },
  "POST /echo, 1 KiB of JSON": {
    headers: { ":path": "/echo", ":method": "POST", "content-type": "application/json" },
    body: JSON.stringify({ text: "x".repeat(1000) }),
  },
};

const [given = "9"] = process.argv.slice(2);
if (given in sides) await serve(sides[given]);
else await compare(Number(given));

/** Listens, and replies to each message with the microseconds of CPU since the last one. */
async function serve(side) {
  process.send(await side());
  process.on("disconnect", () => process.exit());
  let before = process.cpuUsage();
  process.on("message", () => {
    const now = process.cpuUsage();
    process.send(now.user + now.system - before.user - before.system);
    before = now;
  });
}

async function compare(rounds) {
  const names = Object.keys(sides);
  const children = names.map((name) =>
    spawn(process.execPath, [new URL(import.meta.url).pathname, name], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    }),
  );
  for (const child of children) child.on("exit", (code) => code !== null && process.exit(1));
  const ports = await Promise.all(children.map(async (child) => (await once(child, "message"))[0]));
  for (const [title, workload] of Object.entries(workloads)) {
    const figures = [];
    // The first round compiles the code.
    for (let round = 0; round <= rounds; round++) {
      const row = [];
      for (const [i, child] of children.entries()) {
        await cpuOf(child);
        await load(ports[i], workload);
        row.push((await cpuOf(child)) / requestsPerRound);
      }
      if (round > 0) figures.push(row);
    }
    console.log(`${title}: microseconds of CPU per request, median of ${rounds} rounds of ${requestsPerRound}`);
    for (const [i, name] of names.entries()) {
      const ratios = figures.map((row) => row[i] / row[1]);
      const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
      const cost = median(figures.map((row) => row[i])).toFixed(1);
      console.log(`  ${name} ${cost}, ${median(ratios).toFixed(2)} of Fastify's (${low} to ${high})`);
    }
  }
  for (const child of children) child.kill();
}

async function cpuOf(child) {
  const told = once(child, "message");
  child.send("now");
  return (await told)[0];
}

async function load(port, { headers, body }) {
  let left = requestsPerRound;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const session = connect(`http://127.0.0.1:${port}`);
      const next = () =>
        new Promise((resolve, reject) => {
          const stream = session.request(headers, { endStream: body === undefined });
          stream.on("response", (fields) => fields[":status"] !== 200 && reject(new Error(`${fields[":status"]}`)));
          stream.on("error", reject);
          stream.on("end", resolve);
          stream.resume();
          if (body !== undefined) stream.end(body);
        });
      const worker = async () => {
        while (left-- > 0) await next();
      };
      await Promise.all(Array.from({ length: streams }, worker));
      session.close();
    }),
  );
}
