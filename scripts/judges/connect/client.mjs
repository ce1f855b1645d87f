/** The client that the conformance suite of Connect tests: `client.mjs <folder of protos>`. */
import { addHeaders, headersOf, readMessages, sleep } from "./messages.mjs";

const [folder] = process.argv.slice(2);
const { GrpcChannel, GrpcError, Metadata } = await import("stoa/grpc");
const messages = readMessages(folder);
const channels = new Map();

for await (const request of messages.received("ClientCompatRequest")) {
  void run(request).then(
    (response) => answer(request, { case: "response", value: response }),
    (error) => answer(request, { case: "error", value: { message: String(error?.stack ?? error) } }),
  );
}

function answer({ testName }, result) {
  messages.send("ClientCompatResponse", { testName, result });
}

async function run(request) {
  const controller = new AbortController();
  const cancel = request.cancel?.cancelTiming;
  const after = (milliseconds) => setTimeout(() => controller.abort(), milliseconds);
  const metadata = new Metadata();
  addHeaders(metadata, request.requestHeaders);
  const result = { payloads: [], responseHeaders: [], responseTrailers: [] };
  const options = {
    metadata,
    signal: controller.signal,
    timeout: request.timeoutMs === undefined ? 0 : `${request.timeoutMs}ms`,
    onHeaders: (received) => (result.responseHeaders = headersOf(received)),
    onTrailers: (received) => (result.responseTrailers = headersOf(received)),
  };
  const isDuplex = request.streamType === 5;
  const all = request.requestMessages.map(messages.unpack);
  let sent = 0;
  let proceed = () => {};

  async function* outgoing() {
    for (const message of all) {
      await sleep(request.requestDelayMs);
      const responded = new Promise((resolve) => (proceed = resolve));
      yield message;
      sent++;
      if (isDuplex) await responded;
    }
    closed();
  }

  const closed = () => {
    if (cancel?.case === "beforeCloseSend") controller.abort();
    if (cancel?.case === "afterCloseSendMs") after(cancel.value);
  };

  const received = ({ payload }) => {
    result.payloads.push(payload ?? {});
    if (cancel?.case === "afterNumResponses" && cancel.value === result.payloads.length) controller.abort();
    proceed();
  };

  const method = messages.service.methods.find(({ name }) => name === request.method);
  const streams = method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming";
  const call = clientOf(request)[method.localName](streams ? outgoing() : all[0], options);
  if (!streams) closed();
  try {
    if (call instanceof Promise) received(await call);
    else for await (const response of call) received(response);
  } catch (error) {
    if (!(error instanceof GrpcError)) throw error;
    result.error = { code: error.grpcCode, message: error.message, details: error.details };
    result.responseTrailers = headersOf(error.metadata);
    if (streams) result.numUnsentRequests = all.length - sent;
  } finally {
    proceed();
  }
  return result;
}

/** A client of the server that a request names. Requests with the same settings share a channel. */
function clientOf({ host, port, serverTlsCert, clientTlsCreds, compression, messageReceiveLimit }) {
  const isSecure = serverTlsCert.length > 0;
  const key = [host, port, compression, messageReceiveLimit, isSecure, clientTlsCreds !== undefined].join();
  let client = channels.get(key);
  if (client === undefined) {
    const channel = new GrpcChannel(`${isSecure ? "https" : "http"}://${host}:${port}`, {
      compression: compression === 2,
      ...(messageReceiveLimit > 0 && { maxMessageSize: messageReceiveLimit }),
      ...(isSecure && {
        tls: { ca: serverTlsCert, ...(clientTlsCreds && { cert: clientTlsCreds.cert, key: clientTlsCreds.key }) },
      }),
    });
    channels.set(key, (client = channel.client(messages.service)));
  }
  return client;
}
