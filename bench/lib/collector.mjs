import { once } from "node:events";
import { createServer } from "node:http";

let started;

/** A collector of OTLP that reads and forgets, in the process of the benchmark. The servers find it in BENCH_COLLECTOR. */
export function startCollector() {
  return (started ??= listen());
}

async function listen() {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/x-protobuf" }).end());
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  process.env.BENCH_COLLECTOR = `http://127.0.0.1:${server.address().port}`;
}
