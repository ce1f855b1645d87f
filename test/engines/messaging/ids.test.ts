import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { MemoryBroker } from "stoa/messaging";
import { expect, it } from "vitest";
import { compiled } from "../../support/compiled.js";
import { clients, uniqueTopic } from "./harness.js";

const run = promisify(execFile);
const program = fileURLToPath(new URL("./ids-program.ts", import.meta.url));
const open = clients({ connect: () => new MemoryBroker() });

it("Ids of messages and groups of broadcasts never collide between processes of one machine", async () => {
  const outputs = await Promise.all(
    [1, 2, 3].map(() => run(process.execPath, [compiled(program)], { timeout: 60_000 })),
  );
  const ids = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
  expect(ids).toHaveLength(3 * 501);
  expect(new Set(ids).size).toBe(ids.length);
});

it("The requests that wait for their replies are bounded", async () => {
  const client = await open();
  const name = uniqueTopic();
  // Nobody replies.
  const waiting = Array.from({ length: 10_000 }, () => client.request(name, 1).catch((error: unknown) => error));
  await expect(client.request(name, 1)).rejects.toMatchObject({ code: "BUSY" });
  await client.close();
  const results = await Promise.all(waiting);
  expect(results.every((error) => (error as { code?: string }).code === "CLOSED")).toBe(true);
});
