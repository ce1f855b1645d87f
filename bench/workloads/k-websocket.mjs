/** 64 connections, each with one message of a few bytes on its way: against `ws` alone. */
export default {
  key: "k",
  name: "websocket",
  kind: "websocket",
  unit: "message",
  client: "websocket",
  method: "GET",
  path: "/",
  value: "ready",
  peers: ["stoa", "elysia-bun"],
};
