import net, { type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { get, Program, patient, until } from "../../server/process/program.js";
import { startCollector } from "./collector.js";
import { attributesOf } from "./decode.js";

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url));

describe("telemetry of processes", patient, () => {
  it("Each worker exports its own spans and metrics when it ends, as an instance of its own", async () => {
    await using collector = await startCollector();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const program = new Program({ file: fixture("traced"), args: ["--workers", "2"], env });
    const url = await program.url();
    const pids = new Set<string>();
    let requests = 0;
    await until(async () => {
      requests++;
      return pids.add((await get(`${url}/pid`)).text).size === 2;
    });
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
    const resources = collector.exports.map(({ message }) => attributesOf(message.resources[0].resource));
    const instances = new Map(resources.map((each) => [each["service.instance.id"], String(each["process.pid"])]));
    expect(new Set(instances.values())).toEqual(pids);
    expect(instances.size).toBe(2);
    expect(collector.spans).toHaveLength(requests);
    const points = collector.metrics.flatMap(({ histogram }) => histogram?.points ?? []);
    expect(points.reduce((sum, { count }) => sum + Number(count), 0)).toBe(requests);
  });

  it("A process ends although its collector never replies, and logs that spans were lost", async () => {
    const server = net.createServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await until(() => server.listening);
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const program = new Program({ file: fixture("traced"), env });
    await get(`${await program.url()}/pid`);
    program.child.kill("SIGTERM");
    // The server's own limit for the end is ten seconds and would give another code.
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout + program.stderr).toContain("telemetry: spans were lost");
  });

  it("A script that waits for its flush exports its span and ends", async () => {
    await using collector = await startCollector();
    const program = new Program({ file: fixture("script"), env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout).toContain("flushed");
    expect(collector.spans.map(({ name }) => name)).toEqual(["of a script"]);
  });
});
