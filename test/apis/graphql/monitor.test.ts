import type { App } from "stoa";
import { describe, expect, it } from "vitest";
import { requestLogger } from "../../../src/batteries/request-log/request-log.js";
import { traced } from "../../batteries/telemetry/traced.js";
import { post, quietApp } from "./support.js";

function setup(app: App): void {
  app.enableGraphql();
  app.graphql.query("fine", "Int!", () => app.tracer.span("inner", () => 1));
  app.graphql.query("broken", "Int", () => Promise.reject(new Error("no value")));
  app.graphql.mutation("change", "Int!", () => 2);
}

describe("watching operations", () => {
  it("An operation is a span below that of the request, with its type, name and number of errors", async () => {
    const { send, flush, collector, lines } = await traced(setup);
    const operate = (query: string) =>
      send("/graphql", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query }),
      });
    await operate("query Fine { fine }");
    await operate("query Broken { fine a: broken b: broken }");
    await operate("mutation { change }");
    await flush();
    const spans = collector.spans.filter(({ attributes }) => "graphql.operation.type" in attributes);
    expect(spans.map(({ name, attributes }) => [name, attributes["graphql.operation.name"]])).toEqual([
      ["query", "Fine"],
      ["query", "Broken"],
      ["mutation", undefined],
    ]);
    const byId = new Map(collector.spans.map((span) => [span.spanId, span]));
    for (const { parentSpanId } of spans) expect(byId.get(parentSpanId!)?.name).toBe("POST /graphql");
    const inner = collector.spans.find(({ name }) => name === "inner")!;
    expect(inner.parentSpanId).toBe(spans[0]!.spanId);
    expect(spans[1]!.attributes["graphql.errors.count"]).toBe(2);
    expect([spans[0]!.status?.code ?? 0, spans[1]!.status?.code]).toEqual([0, 2]);
    const failures = lines.filter(({ message }) => message === "a resolver failed");
    expect(failures).toMatchObject([
      { graphql_operation: "Broken", graphql_type: "query", field: "a" },
      { graphql_operation: "Broken", graphql_type: "query", field: "b" },
    ]);
  });

  it("Operations are counted by type and outcome and timed, and names of clients are no labels", async () => {
    const app = quietApp();
    app.enableMetrics();
    setup(app);
    for (let i = 0; i < 3; i++) await post(app, { query: `query Name${i} { fine }` });
    await post(app, { query: "{ broken }" });
    await post(app, { query: "{ unknown }" });
    await post(app, { query: "mutation { change }" });
    const text = await (await app.request("/metrics")).text();
    const lines = text.split("\n").filter((line) => line.includes("graphql_") && !line.startsWith("#"));
    const seriesOf = (series: string): number =>
      Number(lines.find((line) => line.includes(`${series} `))?.split(" ")[1] ?? Number.NaN);
    expect(seriesOf('graphql_operations_total{type="query",outcome="done"}')).toBe(3);
    expect(seriesOf('graphql_operations_total{type="query",outcome="errors"}')).toBe(1);
    expect(seriesOf('graphql_operations_total{type="mutation",outcome="done"}')).toBe(1);
    expect(seriesOf('graphql_operations_total{type="unknown",outcome="refused"}')).toBe(1);
    expect(seriesOf('graphql_errors_total{type="query"}')).toBe(1);
    expect(seriesOf('graphql_operation_duration_seconds_count{type="query"}')).toBe(4);
    expect(text).not.toContain("Name0");
  });

  it.each(["json", "pretty"] as const)("The line of a request names its operation (%s)", async (format) => {
    const app = quietApp();
    let text = "";
    const sink = {
      write(line: string): boolean {
        text += line;
        return true;
      },
    };
    app.use(requestLogger({ format, sink: sink as never }));
    setup(app);
    await post(app, { query: "query Two { a: broken b: broken }" });
    const pattern =
      format === "json"
        ? /"latency_ms":[\d.]+,"graphql_type":"query","graphql_operation":"Two","graphql_errors":2/
        : / ms query Two 2/;
    expect(text).toMatch(pattern);
    if (format === "json") expect(JSON.parse(text)).toMatchObject({ status: 200, graphql_errors: 2 });
  });
});
