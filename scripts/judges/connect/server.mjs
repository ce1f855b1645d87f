/**
 * The server that the conformance suite of Connect tests: `server.mjs <folder of protos> application|grpc`, at the port of the
 * application or at that of `enableGrpc`.
 */
import { addHeaders, headersOf, readMessages, service, sleep } from "./messages.mjs";

const [folder, port] = process.argv.slice(2);
const { App, createLogger } = await import("stoa");
const { GrpcError } = await import("stoa/grpc");
const messages = readMessages(folder);

const handlers = {
  Unary: (message, call) => single("UnaryRequest", [message], call),
  IdempotentUnary: (message, call) => single("IdempotentUnaryRequest", [message], call),
  async ClientStream(requests, call) {
    const all = [];
    for await (const request of requests) all.push(request);
    return single("ClientStreamRequest", all, call);
  },
  async *ServerStream(request, call) {
    const info = infoOf("ServerStreamRequest", [request], call);
    yield* stream(request.responseDefinition, call, [], () => info);
  },
  async *BidiStream(requests, call) {
    let definition;
    let isDuplex = false;
    let isFirst = true;
    const waiting = [];
    // The requests that no response has shown yet; the first response shows the headers too.
    const info = () => {
      const shown = infoOf("BidiStreamRequest", waiting.splice(0), call);
      if (isFirst) {
        isFirst = false;
        return shown;
      }
      return isDuplex && shown.requests.length > 0 ? { requests: shown.requests } : undefined;
    };
    const first = await requests.next();
    if (!first.done) {
      ({ responseDefinition: definition, fullDuplex: isDuplex } = first.value);
      waiting.push(first.value);
    }
    if (!isDuplex) for await (const request of requests) waiting.push(request);
    yield* stream(definition, call, isDuplex ? requests : [], info, waiting);
  },
};

/** The response of a method that gives one message. */
async function single(type, requests, call) {
  const definition = requests[0]?.responseDefinition;
  const requestInfo = infoOf(type, requests, call);
  if (definition === undefined) return { payload: { requestInfo } };
  addHeaders(call.headers, definition.responseHeaders);
  addHeaders(call.trailers, definition.responseTrailers);
  await sleep(definition.responseDelayMs);
  const { case: kind, value } = definition.response;
  if (kind === "error") throw errorOf(value, requestInfo);
  return { payload: { requestInfo, ...(kind === "responseData" && { data: value }) } };
}

/** The responses of a stream. Each of them waits for the next request, while there are any, and shows it. */
async function* stream(definition, call, requests, info, waiting = []) {
  if (definition === undefined) return;
  addHeaders(call.headers, definition.responseHeaders);
  addHeaders(call.trailers, definition.responseTrailers);
  if (definition.responseData.length > 0) call.sendHeaders();
  let sent = 0;
  for (const data of definition.responseData) {
    if (sent > 0 && !Array.isArray(requests)) {
      const { done, value } = await requests.next();
      if (!done) waiting.push(value);
    }
    await sleep(definition.responseDelayMs);
    yield { payload: { data, requestInfo: sent === 0 || waiting.length > 0 ? info() : undefined } };
    sent++;
  }
  if (definition.error !== undefined) throw errorOf(definition.error, sent === 0 ? info() : null);
}

function errorOf({ code, message, details }, info) {
  const all = info === null ? details : [...details, messages.pack("ConformancePayload.RequestInfo", info)];
  return new GrpcError(code, message, { details: all });
}

function infoOf(type, requests, call) {
  const query = [...call.request.query].map(([name, value]) => ({ name, value: [value] }));
  return {
    requestHeaders: headersOf(call.metadata),
    requests: requests.map((request) => messages.pack(type, request)),
    ...(call.deadline !== null && { timeoutMs: BigInt(Math.max(0, call.deadline.getTime() - Date.now())) }),
    ...(query.length > 0 && { connectGetInfo: { queryParams: query } }),
  };
}

for await (const request of messages.received("ServerCompatRequest")) {
  const { useTls, serverCreds, clientTlsCert, messageReceiveLimit } = request;
  const tls = {
    tls: {
      cert: serverCreds?.cert,
      key: serverCreds?.key,
      ...(clientTlsCert.length > 0 && { clientCertificates: { ca: clientTlsCert } }),
    },
  };
  const app = new App();
  // Standard output belongs to the suite.
  app.logger = createLogger({ level: "silent" });
  app.enableGrpc({
    address: "127.0.0.1:0",
    enableWeb: true,
    compression: true,
    ...(messageReceiveLimit > 0 && { maxMessageSize: messageReceiveLimit }),
    ...(useTls && tls),
  });
  app.addGrpcService(service, handlers, messages.definition);
  const running = await app.run({ port: 0, exit: false, logs: false, http2: true, ...(useTls && tls) });
  messages.send("ServerCompatResponse", {
    host: "127.0.0.1",
    port: Number(new URL(port === "grpc" ? `http://${app.grpc.address}` : running.url).port),
    ...(useTls && { pemCert: serverCreds.cert }),
  });
}
