import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { App, type RunOptions } from "stoa";
import type { GrpcOptions, MethodKind } from "stoa/grpc";
import { Echo } from "./fixtures/echo_pb.js";

/** An application with gRPC at a free port. */
export interface RunningApp {
  readonly app: App;
  /** `127.0.0.1:50123`. */
  readonly target: string;
  /** The address of the application's own port. */
  readonly url: string;
  close(): Promise<void>;
}

export async function serve(
  build: (app: App) => void,
  options: GrpcOptions = {},
  run: RunOptions = {},
): Promise<RunningApp> {
  const app = new App();
  app.enableGrpc({ address: "127.0.0.1:0", ...options });
  build(app);
  const server = await app.run({ port: 0, exit: false, logs: false, ...run });
  return { app, target: app.grpc.address!, url: server.url, close: () => server.close() };
}

/** The service of most tests. */
export function addEcho(app: App): void {
  app.addGrpcService(Echo, {
    say: (message) => ({ text: message.text, number: message.times, payload: message.payload }),
    look: (message) => ({ text: `seen ${message.text}` }),
    async *count(message) {
      for (let number = 1; number <= message.times; number++) yield { text: message.text, number };
    },
    async collect(messages) {
      const texts: string[] = [];
      for await (const { text } of messages) texts.push(text);
      return { text: texts.join(" "), number: texts.length };
    },
    async *chat(messages) {
      let number = 0;
      for await (const { text } of messages) yield { text, number: ++number };
    },
    mirror: (message) => message,
  });
}

interface Described<I extends DescMessage, O extends DescMessage> {
  readonly parent: { readonly typeName: string };
  readonly name: string;
  readonly methodKind: MethodKind;
  readonly input: I;
  readonly output: O;
}

/** The outcome of a call of grpc-js, whatever it was. */
export interface Outcome<T> {
  readonly messages: T[];
  readonly code: number;
  readonly details: string;
  readonly trailers: grpc.Metadata;
  readonly headers: grpc.Metadata | null;
}

export interface CallSettings {
  readonly metadata?: Record<string, string | Buffer>;
  readonly options?: grpc.CallOptions;
  /** Called with the call once it has begun. */
  readonly onCall?: (call: grpc.Client extends never ? never : { cancel(): void }) => void;
}

/** The client of the most used implementation for Node. */
export class Peer {
  readonly client: grpc.Client;

  constructor(target: string, credentials = grpc.credentials.createInsecure(), options: grpc.ClientOptions = {}) {
    this.client = new grpc.Client(target, credentials, { "grpc.enable_retries": 0, ...options });
  }

  close(): void {
    this.client.close();
  }

  call<I extends DescMessage, O extends DescMessage>(
    method: Described<I, O>,
    input: MessageInitShape<I> | readonly MessageInitShape<I>[],
    settings: CallSettings = {},
  ): Promise<Outcome<MessageShape<O>>> {
    const { parent, name, methodKind } = method;
    const path = `/${parent.typeName}/${name}`;
    const encode = (message: MessageInitShape<I>): Buffer =>
      Buffer.from(toBinary(method.input, create(method.input, message)));
    const decode = (bytes: Buffer): MessageShape<O> => fromBinary(method.output, bytes);
    return this.raw(path, methodKind, input as never, encode as never, decode, settings);
  }

  raw<T>(
    path: string,
    kind: MethodKind,
    input: unknown,
    encode: (message: unknown) => Buffer,
    decode: (bytes: Buffer) => T,
    { metadata = {}, options = {}, onCall }: CallSettings = {},
  ): Promise<Outcome<T>> {
    const sent = new grpc.Metadata();
    for (const [key, value] of Object.entries(metadata)) sent.add(key, value);
    return new Promise((resolve) => {
      const messages: T[] = [];
      let headers: grpc.Metadata | null = null;
      const finish = (status: grpc.StatusObject): void =>
        resolve({ messages, code: status.code, details: status.details, trailers: status.metadata, headers });
      const single = (_error: unknown, message?: T): void => {
        if (message !== undefined) messages.push(message);
      };
      const { client } = this;
      const call =
        kind === "unary"
          ? client.makeUnaryRequest(path, encode, decode, input, sent, options, single)
          : kind === "server_streaming"
            ? client.makeServerStreamRequest(path, encode, decode, input, sent, options)
            : kind === "client_streaming"
              ? client.makeClientStreamRequest(path, encode, decode, sent, options, single)
              : client.makeBidiStreamRequest(path, encode, decode, sent, options);
      call.on("metadata", (received: grpc.Metadata) => {
        headers = received;
      });
      call.on("status", finish);
      call.on("error", () => {});
      if (kind === "server_streaming" || kind === "bidi_streaming")
        call.on("data", (message: T) => messages.push(message));
      onCall?.(call);
      if (kind === "client_streaming" || kind === "bidi_streaming") {
        const writable = call as grpc.ClientWritableStream<unknown>;
        for (const message of input as unknown[]) writable.write(message);
        writable.end();
      }
    });
  }
}
