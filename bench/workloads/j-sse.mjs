import { Hub } from "../lib/hub.mjs";

/** Every event goes to 1,000 clients, and the next once all have it. Counted are the events that arrived. */
export default {
  key: "j",
  name: "sse",
  kind: "sse",
  unit: "event",
  client: "sse",
  method: "GET",
  path: "/",
  value: "ready",
  peers: ["stoa", "hono"],
  hub: new Hub(),
};
