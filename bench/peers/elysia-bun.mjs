import { createApp } from "../apps/elysia.mjs";

export const serve = (workload, port) => createApp(workload).listen({ port, hostname: "127.0.0.1" });
