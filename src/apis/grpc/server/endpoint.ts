import type { Response } from "../../../http/response.js";
import { clientStreams, serverStreams } from "../bound-method.js";
import type { Exchange } from "./exchange.js";
import { MessageIterator } from "./message-iterator.js";
import { ResponseFrames } from "./response-frames.js";

/** The innermost part of the pipeline of a call: reads messages, runs the handler, gives the response. */
export function answerCall(exchange: Exchange, injected: Record<string, unknown>): Promise<Response> | Response {
  const { method, call } = exchange;
  if (serverStreams(method)) {
    return exchange.reply(
      new ResponseFrames(exchange, async () =>
        method.handler(clientStreams(method) ? new MessageIterator(exchange) : await exchange.single(), call, injected),
      ),
    );
  }
  return unlessAborted(exchange, answerSingle(exchange, injected));
}

async function answerSingle(exchange: Exchange, injected: Record<string, unknown>): Promise<Response> {
  const { method, call } = exchange;
  const input = clientStreams(method) ? new MessageIterator(exchange) : await exchange.single();
  const message = await method.handler(input, call, injected);
  return exchange.reply(await exchange.encode(message));
}

/** Rejects as soon as the call is aborted. The handler may still run: scoped values are disposed after it. */
function unlessAborted(exchange: Exchange, work: Promise<Response>): Promise<Response> {
  const { request } = exchange;
  return new Promise((resolve, reject) => {
    let held = false;
    exchange.onAbort = (error) => {
      held = true;
      request.hold();
      reject(error);
    };
    const settled = (): void => {
      exchange.onAbort = null;
      if (held) request.finish();
    };
    work.then(
      (response) => {
        settled();
        resolve(response);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}
