/** 64 connections that each send a message when the one before has come back: `node websocket.mjs <port>`. */
import { once } from "node:events";
import { WebSocket } from "ws";
import { answerSlices, giveUp } from "../lib/slices.mjs";

const port = Number(process.argv[2]);
const message = "a message of a few bytes";
const sockets = await Promise.all(Array.from({ length: 64 }, connect));

await answerSlices(async (end) => {
  const latencies = [];
  await Promise.all(sockets.map((socket) => converse(socket, end, latencies)));
  return { latencies, requests: latencies.length };
});

async function connect() {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/echo`, { perMessageDeflate: false });
  await once(socket, "open");
  socket.on("close", () => giveUp("the server closed a connection"));
  return socket;
}

function converse(socket, end, latencies) {
  return new Promise((resolve) => {
    let sent = performance.now();
    socket.on("message", function back(data) {
      if (data.toString() !== message) giveUp(`wrong answer: ${data.toString().slice(0, 100)}`);
      const now = performance.now();
      latencies.push(now - sent);
      if (now < end) {
        sent = now;
        socket.send(message);
      } else {
        socket.off("message", back);
        resolve();
      }
    });
    socket.send(message);
  });
}
