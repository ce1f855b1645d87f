/** The messages of the conformance suite of Connect, and the way in which it exchanges them with a program. */
import { join } from "node:path";
import { create, createRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";

const { loadProto } = await import("../../../src/apis/grpc/proto/load.ts");

const scope = "connectrpc.conformance.v1";
export const service = `${scope}.ConformanceService`;

/** `folder` holds `connectrpc/conformance/v1`. */
export function readMessages(folder) {
  const file = (name) => join(folder, "connectrpc/conformance/v1", name);
  const registry = createRegistry(
    ...["service.proto", "client_compat.proto", "server_compat.proto"].map((name) => loadProto(file(name), [folder])),
  );
  const schema = (name) => registry.getMessage(`${scope}.${name}`);
  return {
    service: registry.getService(service),
    /** The option of a service that is given by its name. */
    definition: { proto: file("service.proto"), protoPath: folder },
    pack: (name, value) => anyPack(schema(name), create(schema(name), value)),
    unpack: (any) => anyUnpack(any, registry),
    /** Each message that the suite sends to this program. */
    async *received(name) {
      for await (const bytes of frames(process.stdin)) yield fromBinary(schema(name), bytes);
    },
    send(name, value) {
      const bytes = toBinary(schema(name), create(schema(name), value));
      const size = Buffer.alloc(4);
      size.writeUInt32BE(bytes.length);
      process.stdout.write(Buffer.concat([size, bytes]));
    },
  };
}

async function* frames(stream) {
  let rest = Buffer.alloc(0);
  for await (const piece of stream) {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
      const end = 4 + rest.readUInt32BE(0);
      yield rest.subarray(4, end);
      rest = rest.subarray(end);
    }
  }
}

/** Headers of the suite in a Metadata of Stoa. Values of names that end in `-bin` are bytes there. */
export function addHeaders(metadata, headers) {
  for (const { name, value } of headers) {
    for (const item of value) metadata.append(name, name.endsWith("-bin") ? Buffer.from(item, "base64") : item);
  }
}

/** A Metadata as headers of the suite. */
export function headersOf(metadata) {
  const headers = new Map();
  for (const [name, value] of metadata) {
    const text = typeof value === "string" ? value : Buffer.from(value).toString("base64").replace(/=+$/, "");
    headers.set(name, [...(headers.get(name) ?? []), text]);
  }
  return [...headers].map(([name, value]) => ({ name, value }));
}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
