import { App } from "stoa";
import { GrpcError } from "stoa/grpc";

interface Book {
  id: number;
  title: string;
  year: number;
}

/** Books over gRPC, gRPC-Web and Connect, from a `.proto` file and without a build step. */
export function grpcApp(address = "127.0.0.1:50051"): App {
  const app = new App();
  app.enableGrpc({ address, reflection: true, enableWeb: true });

  const books = new Map<number, Book>([
    [1, { id: 1, title: "The Dispossessed", year: 1974 }],
    [2, { id: 2, title: "Solaris", year: 1961 }],
  ]);

  app.addGrpcService(
    "books.v1.Books",
    {
      GetBook({ id }: { id: number }) {
        const book = books.get(id);
        if (book === undefined) throw new GrpcError("NOT_FOUND", `there is no book ${id}`);
        return book;
      },
      async *ListBooks({ since }: { since: number }) {
        for (const book of books.values()) if (book.year >= since) yield book;
      },
      async AddBooks(added: AsyncIterable<{ title: string; year: number }>) {
        const before = books.size;
        for await (const { title, year } of added) {
          const id = books.size + 1;
          books.set(id, { id, title, year });
        }
        return { added: books.size - before };
      },
    },
    { proto: new URL("./books.proto", import.meta.url) },
  );
  return app;
}
