import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { bodyOf } from "./body.mjs";
import { prepareClient } from "./client.mjs";
import { cores } from "./machine.mjs";

/** Prepares the load of a workload; the result runs one slice of it against a port. */
export async function prepareLoad(workload, folder) {
  await workload.prepare?.();
  if (workload.client) return prepareClient(workload);
  const { key, path, connections = 64, size } = workload;
  const script = join(folder, `${key}.lua`);
  const body = bodyOf(workload);
  const bodyFile = body && join(folder, `${key}.body`);
  if (body) await writeFile(bodyFile, body.text);
  await writeFile(script, luaFor(workload, body, bodyFile));
  return async function load(port, seconds) {
    const url = `http://127.0.0.1:${port}${path}`;
    const args = ["-c", cores.load, "wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "--latency", "-s", script, url];
    const { stdout } = await promisify(execFile)("taskset", args.map(String));
    const result = JSON.parse(stdout.slice(stdout.indexOf("{")));
    if (result.errors > 0) throw new Error(`${result.errors} failed requests under load`);
    return size ? { ...result, requests: result.bytes / size } : result;
  };
}

/** Only globals are set and only the end is reported, so that wrk runs no Lua per request. */
function luaFor({ method, headers = {} }, body, bodyFile) {
  const fields = { ...headers, ...(body && { "Content-Type": body.type }) };
  const lines = Object.entries(fields).map(([name, text]) => `wrk.headers["${name}"] = "${text}"\n`);
  const content = body ? `local file = io.open("${bodyFile}", "rb")\nwrk.body = file:read("*a")\nfile:close()\n` : "";
  return `wrk.method = "${method}"
${lines.join("")}${content}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"bytes":%.0f,"errors":%d,"p50":%f,"p99":%f}', summary.requests, summary.bytes,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50), latency:percentile(99)))
end
`;
}
