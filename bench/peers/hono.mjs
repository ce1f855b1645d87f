import { serve as listen } from "@hono/node-server";
import { createApp } from "../apps/hono.mjs";

export const serve = (workload, port) => listen({ fetch: createApp(workload).fetch, port, hostname: "127.0.0.1" });
