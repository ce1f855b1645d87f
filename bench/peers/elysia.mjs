import { node } from "@elysiajs/node";
import { createApp } from "../apps/elysia.mjs";

export const serve = (workload, port) =>
  createApp(workload, { adapter: node() }).listen({ port, hostname: "127.0.0.1" });
