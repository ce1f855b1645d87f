import { GrpcChannel } from "stoa/grpc";
import { describe, expect, it } from "vitest";
import { grpcApp } from "../../examples/grpc/app.js";

describe("the example with gRPC", () => {
  it("The example with gRPC gets, lists and adds books, over gRPC and as JSON", async () => {
    const app = grpcApp("127.0.0.1:0");
    const server = await app.run({ port: 0, exit: false, logs: false });
    const channel = new GrpcChannel(app.grpc.address!);
    const proto = new URL("../../examples/grpc/books.proto", import.meta.url);
    const books = channel.client("books.v1.Books", { proto });
    expect(await books.unary("GetBook", { id: 2 })).toMatchObject({ title: "Solaris", year: 1961 });
    await expect(books.unary("GetBook", { id: 9 })).rejects.toMatchObject({ statusName: "NOT_FOUND" });
    expect(await books.clientStreaming("AddBooks", [{ title: "Fiasco", year: 1986 }])).toMatchObject({ added: 1 });
    const titles: string[] = [];
    for await (const { title } of books.serverStreaming<{ title: string }>("ListBooks", { since: 1970 }))
      titles.push(title);
    expect(titles).toEqual(["The Dispossessed", "Fiasco"]);
    const response = await fetch(new URL("/books.v1.Books/GetBook", server.url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"id": 1}',
    });
    expect(await response.json()).toEqual({ id: 1, title: "The Dispossessed", year: 1974 });
    await channel.close();
    await server.close();
  });
});
