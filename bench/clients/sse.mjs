/** 1,000 listeners: `node sse.mjs <port>`. A few events are on their way at a time, so that the server has no rest. */
import { once } from "node:events";
import { connect } from "node:net";
import { answerSlices, giveUp } from "../lib/slices.mjs";

const port = Number(process.argv[2]);
const listeners = 1000;
const inFlight = 4;
const patience = 10_000;
const mark = "data: ";
const waiting = [];
let received = 0;

for (let n = 0; n < listeners; n++) await listen(n + 1);
const publisher = await open();
publisher.setNoDelay().resume();
await answerSlices(async (end) => {
  const latencies = [];
  let published = received;
  const one = async () => {
    while (performance.now() < end) {
      const begin = performance.now();
      published += listeners;
      publisher.write("POST /publish HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
      await arrived(published);
      latencies.push(performance.now() - begin);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  return { latencies, requests: latencies.length * listeners };
});

async function listen(total) {
  const socket = await open();
  socket.write("GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
  let rest = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    const text = rest + chunk;
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + mark.length)) received++;
    rest = text.slice(1 - mark.length);
    while (waiting.length > 0 && waiting[0].total <= received) waiting.shift().resolve();
  });
  await arrived(total);
}

/** Resolves when so many events have come to all listeners together. */
async function arrived(total) {
  const timer = setTimeout(() => giveUp(`${total - received} events did not arrive`), patience);
  await new Promise((resolve) => waiting.push({ total, resolve }));
  clearTimeout(timer);
}

async function open() {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", ({ message }) => giveUp(message)).on("close", () => giveUp("the server closed a connection"));
  return socket;
}
