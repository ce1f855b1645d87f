/* global Bun */
import { createApp } from "../apps/hono.mjs";

export const serve = (workload, port) => Bun.serve({ fetch: createApp(workload).fetch, port, hostname: "127.0.0.1" });
