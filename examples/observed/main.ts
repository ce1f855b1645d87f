import { observedApp } from "./app.js";

const { url } = await observedApp().run();

if (process.stdout.isTTY) {
  console.log(`Open ${url}/_stoa, and try, in another terminal:

  for i in $(seq 50); do curl -s -X POST ${url}/jobs -d "job $i"; curl -s -X POST ${url}/jobs/next; done
  curl ${url}/health
  curl ${url}/metrics

With a collector of OpenTelemetry or Jaeger on this machine, start it with OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318.
`);
}
