import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Database, openDatabase } from "stoa";
import { Migrator } from "stoa/migrations";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bookshopApp, migrations } from "../../examples/bookshop/app.js";
import { sortNameOf } from "../../examples/bookshop/sort-name.js";
import { engines } from "../engines/db/engines.js";
import { service } from "../support/service.js";

type Json = Record<string, unknown> & {
  id: number;
  items: { id: number; title: string; author: { name: string }; tags: { name: string }[] }[];
};

const folder = fileURLToPath(new URL("../../examples/bookshop/", import.meta.url));
const program = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Runs the command line in the folder of the example: its exit code and what it printed. */
function stoa(...args: string[]): Promise<[code: number, output: string]> {
  return new Promise((resolve) => {
    const command = ["--import", "tsx", program, ...args];
    const child = execFile(process.execPath, command, { cwd: folder }, (_, stdout, stderr) =>
      resolve([child.exitCode ?? -1, stdout + stderr]),
    );
  });
}

describe("the sort name of an author", () => {
  it.each([
    ["Ursula K. Le Guin", "Le Guin, Ursula K."],
    ["Ludwig van Beethoven", "van Beethoven, Ludwig"],
    ["Iain Banks", "Banks, Iain"],
    ["  Voltaire ", "Voltaire"],
    ["de Sade", "Sade, de"],
  ])("The sort name of %s is %s", (name, expected) => {
    expect(sortNameOf(name)).toBe(expected);
  });
});

describe.each(engines(service("postgres")))("the bookshop on $name", (engine) => {
  let server: TestServer;
  let drop: () => Promise<void>;
  let isbn = 9_780_000_000_000;

  beforeAll(async () => {
    const made = await engine.make();
    drop = made.drop;
    const app = bookshopApp({ database: made.url, seed: true });
    const nothing = (): void => {};
    const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };
    app.logger = logger;
    server = await serve(app, { debug: false });
  });

  afterAll(async () => {
    await server?.close();
    await drop?.();
  });

  const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }> => {
    const init =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await fetch(server.url + path, { method, ...init });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as Json };
  };
  const titles = async (query: string): Promise<string[]> =>
    (await ask("GET", `/books?${query}`)).body.items.map(({ title }) => title);

  /** A new book with copies in stock; gives its id. */
  const addBook = async (copies: number, fields: object = {}): Promise<number> => {
    const { body } = await ask("POST", "/books", {
      isbn: String(++isbn),
      title: `Book ${isbn}`,
      author: 1,
      price: "5.00",
      ...fields,
    });
    if (copies > 0) await ask("POST", `/books/${body.id}/deliveries`, { quantity: copies });
    return body.id;
  };
  const stockOf = async (id: number): Promise<unknown> => (await ask("GET", `/books/${id}`)).body["stock"];
  const order = (...lines: { bookId: number; quantity: number }[]): ReturnType<typeof ask> =>
    ask("POST", "/orders", { customer: "Ann", email: "ann@example.org", lines });

  describe("the catalogue", () => {
    it("The catalogue has filters through relations, and an order", async () => {
      expect(await titles("tags__name=sf&price__lte=11.50&order=-price")).toEqual([
        "Matter",
        "Consider Phlebas",
        "Kindred",
      ]);
      expect(await titles("author__name__icontains=LE%20GUIN&order=year")).toEqual([
        "A Wizard of Earthsea",
        "The Dispossessed",
        "Lavinia",
      ]);
      expect(await titles("year=2008&order=author__sortName,title")).toEqual(["Matter", "Lavinia"]);
    });

    it("The catalogue has pages, with the author and the tags of each book", async () => {
      const { body } = await ask("GET", "/books?size=2&page=2&stock__gt=0");
      expect(body).toMatchObject({ page: 2, pageSize: 2, pages: 3, total: 6, hasNext: true, hasPrevious: true });
      expect(body.items[0]).toMatchObject({
        title: "Kindred",
        author: { name: "Octavia E. Butler" },
        tags: expect.arrayContaining([expect.objectContaining({ name: "sf" })]),
      });
    });

    it("The catalogue has pages by key, which a book that is added meanwhile does not disturb", async () => {
      const seen: number[] = [];
      let path = "/books/newest?size=2";
      for (let pages = 0; pages < 50; pages++) {
        const { body } = await ask("GET", path);
        seen.push(...body.items.map(({ id }) => id));
        if (pages === 0) await addBook(0);
        if (body["next"] === null) break;
        path = `/books/newest?size=2&after=${body["next"]}`;
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.slice(-6)).toEqual([6, 5, 4, 3, 2, 1]);
    });

    it.each([
      ["?stock=3", "is not among the allowed filters"],
      ["?author__email=x", "is not among the allowed filters"],
      ["?order=isbn", "is not among the allowed orders"],
      ["?year=soon", "needs a number"],
      ["/newest?after=nonsense", "cursor"],
    ])("The request /books%s gets 400", async (query, message) => {
      const { status, body } = await ask("GET", `/books${query}`);
      expect([status, body["error"]]).toEqual([400, expect.stringContaining(message)]);
    });

    it("A new book is checked by the rules of its columns", async () => {
      const refused = await ask("POST", "/books", { isbn: "12345678901234", author: "Ann", price: 1.999 });
      expect(refused).toEqual({
        status: 400,
        body: {
          detail: [
            { loc: ["isbn"], msg: "String should have at most 13 characters", type: "string_too_long" },
            { loc: ["title"], msg: "Field required", type: "missing" },
            { loc: ["author"], msg: expect.any(String), type: "int_parsing" },
            { loc: ["price"], msg: expect.any(String), type: "decimal_max_places" },
          ],
        },
      });
      const book = { isbn: "9780000000000", title: "Emma", author: 1, price: "1.00" };
      expect(await ask("POST", "/books", { ...book, isbn: "97800000000x0" })).toMatchObject({
        status: 400,
        body: { detail: [{ loc: ["isbn"], msg: "The value is not allowed" }] },
      });
      expect((await ask("POST", "/books", { ...book, author: 999 })).status).toBe(409);
      expect((await ask("POST", "/books", { ...book, stock: 99 })).body).toMatchObject({ title: "Emma", stock: 0 });
      expect(await ask("POST", "/books", book)).toMatchObject({
        status: 409,
        body: { error: expect.stringContaining("isbn") },
      });
    });

    it("A book can be changed in part, and can have any tags", async () => {
      const id = await addBook(0, { year: 1999 });
      const changed = await ask("PATCH", `/books/${id}`, { price: "6.50" });
      expect(changed).toMatchObject({ status: 200, body: { price: "6.50", year: 1999, authorId: 1 } });
      expect((await ask("PATCH", `/books/${id}`, { price: null })).status).toBe(400);
      expect((await ask("PATCH", "/books/9999", { price: "1" })).status).toBe(404);
      expect((await ask("PUT", `/books/${id}/tags`, ["sf", "new", "sf"])).status).toBe(200);
      expect((await ask("PUT", `/books/${id}/tags`, ["new", "old"])).status).toBe(200);
      expect((await ask("PUT", `/books/${id}/tags`, ["new\0"])).status).toBe(422);
      expect(await titles("tags__name=old")).toHaveLength(1);
      expect((await ask("GET", `/books/${id}`)).body["tags"]).toMatchObject([{ name: "new" }, { name: "old" }]);
      expect((await ask("DELETE", `/books/${id}`)).status).toBe(204);
      expect((await ask("GET", `/books/${id}`)).status).toBe(404);
    });

    it("Authors are sorted as in a library and kept while they have books", async () => {
      const { body, status } = await ask("POST", "/authors", { name: "Anna Abel", born: 1970, sortName: "Zzz" });
      expect([status, body]).toEqual([201, { id: 4, name: "Anna Abel", sortName: "Abel, Anna", born: 1970 }]);
      const list = (await ask("GET", "/authors")).body as unknown as { name: string; bookCount: number }[];
      expect(list.map(({ name }) => name)).toEqual([
        "Anna Abel",
        "Iain Banks",
        "Octavia E. Butler",
        "Ursula K. Le Guin",
      ]);
      expect(list.find(({ name }) => name === "Iain Banks")?.bookCount).toBe(2);
      expect((await ask("PATCH", "/authors/4", { name: "Anna Zabel" })).body["sortName"]).toBe("Zabel, Anna");
      expect((await ask("GET", "/authors/2")).body["books"]).toMatchObject([{ title: "Consider Phlebas" }, {}]);
      expect((await ask("DELETE", "/authors/2")).status).toBe(409);
      expect((await ask("DELETE", "/authors/4")).status).toBe(204);
    });
  });

  describe("orders", () => {
    it("An order has its lines at the current price, exact to the cent", async () => {
      const [first, second] = [await addBook(5, { price: "0.10" }), await addBook(5, { price: "19.99" })];
      const placed = await order({ bookId: first, quantity: 3 }, { bookId: second, quantity: 2 });
      expect(placed).toMatchObject({
        status: 201,
        body: {
          customer: "Ann",
          status: "placed",
          total: "40.28",
          lines: [
            { quantity: 3, unitPrice: "0.10", book: { id: first, stock: 2 } },
            { quantity: 2, unitPrice: "19.99", book: { id: second, stock: 3 } },
          ],
        },
      });
      await ask("PATCH", `/books/${first}`, { price: "100" });
      expect(await ask("GET", `/orders/${placed.body.id}`)).toMatchObject({ status: 200, body: { total: "40.28" } });
      expect((await ask("DELETE", `/books/${first}`)).status).toBe(409);
    });

    it("An order is placed whole or not at all", async () => {
      const [plenty, rare] = [await addBook(10), await addBook(1)];
      const orders = async (): Promise<number> => (await ask("GET", "/orders?size=100")).body.items.length;
      const before = await orders();
      const refused = await order({ bookId: plenty, quantity: 1 }, { bookId: rare, quantity: 2 });
      expect([refused.status, refused.body["error"]]).toEqual([
        409,
        expect.stringMatching(/^There are 1 copies of .*, not 2$/),
      ]);
      expect((await order({ bookId: plenty, quantity: 1 }, { bookId: 99_999, quantity: 1 })).status).toBe(404);
      expect(await stockOf(plenty)).toBe(10);
      expect(await orders()).toBe(before);
    });

    it.each([
      [{ customer: "Ann", email: "ann@example.org", lines: [] }],
      [{ customer: "Ann", email: "nobody", lines: [{ bookId: 1, quantity: 1 }] }],
      [{ customer: "Ann", email: "ann@example.org", lines: [{ bookId: 1, quantity: 0 }] }],
      [
        {
          customer: "Ann",
          email: "ann@example.org",
          lines: [
            { bookId: 1, quantity: 1 },
            { bookId: 1, quantity: 1 },
          ],
        },
      ],
    ])("The order %j is refused", async (body) => {
      expect((await ask("POST", "/orders", body)).status).toBe(422);
    });

    it("One of two concurrent buyers gets the last copy", async () => {
      const last = await addBook(1);
      const answers = await Promise.all([order({ bookId: last, quantity: 1 }), order({ bookId: last, quantity: 1 })]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
      expect(await stockOf(last)).toBe(0);
    });

    /** A busy machine refuses with 503 who waits too long for a connection: clients ask again. */
    const placed: typeof order = async (...lines) => {
      const answer = await order(...lines);
      return answer.status === 503 ? placed(...lines) : answer;
    };

    it("Many concurrent buyers get exactly the available copies", async () => {
      const [a, b] = [await addBook(7), await addBook(30)];
      const buyers = Array.from({ length: 20 }, (_, i) => {
        const lines = [
          { bookId: a, quantity: 1 },
          { bookId: b, quantity: 1 },
        ];
        // In either order of lines: whoever locks rows as they come would wait for another who waits for him.
        return placed(...(i % 2 === 0 ? lines : lines.reverse()));
      });
      const statuses = (await Promise.all(buyers)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 201)).toHaveLength(7);
      expect(statuses.filter((status) => status === 409)).toHaveLength(13);
      expect([await stockOf(a), await stockOf(b)]).toEqual([0, 23]);
    });

    it("An order is cancelled once, which returns its books to the stock", async () => {
      const id = await addBook(3);
      const placed = (await order({ bookId: id, quantity: 2 })).body.id;
      expect(await stockOf(id)).toBe(1);
      const answers = await Promise.all([1, 2, 3].map(() => ask("POST", `/orders/${placed}/cancel`)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
      expect(await stockOf(id)).toBe(3);
      expect((await ask("POST", `/orders/${placed}/ship`)).status).toBe(409);
      expect((await ask("POST", "/orders/9999/cancel")).status).toBe(404);
    });

    it("An order is either shipped or cancelled", async () => {
      const id = await addBook(4);
      const placed = (await order({ bookId: id, quantity: 4 })).body.id;
      const answers = await Promise.all([
        ask("POST", `/orders/${placed}/ship`),
        ask("POST", `/orders/${placed}/cancel`),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      const { status } = (await ask("GET", `/orders/${placed}`)).body;
      expect(await stockOf(id)).toBe(status === "shipped" ? 0 : 4);
      const listed = (await ask("GET", `/orders?status=${status}&size=1`)).body.items;
      expect(listed).toMatchObject([{ id: placed, status }]);
    });

    it("The report of bestsellers counts the sold books", async () => {
      const id = await addBook(1000, { title: "Everybody's favourite", price: "2.50" });
      await order({ bookId: id, quantity: 500 });
      await order({ bookId: id, quantity: 1 });
      const { body } = await ask("GET", "/reports/bestsellers");
      expect((body as unknown as object[])[0]).toEqual({
        book__id: id,
        book__title: "Everybody's favourite",
        copies: expect.anything(),
        orders: 2,
        revenue: "1252.50",
      });
    });
  });

  it("The bookshop reports its health, and documents itself", async () => {
    expect((await ask("GET", "/health/ready")).body["checks"]).toMatchObject({ database: { status: "UP" } });
    expect((await fetch(`${server.url}/docs`)).status).toBe(200);
    const document = (await ask("GET", "/openapi.json")).body as unknown as {
      paths: Record<string, object>;
      components: { schemas: Record<string, object> };
    };
    expect(Object.keys(document.paths)).toContain("/orders/{id}/cancel");
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining(["Author", "Book", "BookInput", "PartialBook", "NewOrder"]),
    );
  });
});

describe("the migrations of the bookshop", () => {
  it("The migrations of the bookshop lead to its models", async () => {
    expect(await stoa("migrate", "make", "--check")).toEqual([0, "the migrations lead to the models\n"]);
  });

  describe.each(engines(service("postgres")))("a database on $name", (engine) => {
    let db: Database;
    let url: string;
    let drop: () => Promise<void>;

    beforeAll(async () => {
      ({ url, drop } = await engine.make());
      db = await openDatabase(url);
    });

    afterAll(async () => {
      await db?.close();
      await drop?.();
    });

    it("The migrations fill a column for existing rows, and run back and forth", async () => {
      const migrator = new Migrator(db, { directory: migrations });
      const authors = (): Promise<object[]> => db.fetch("select * from authors order by id", [], { prepare: false });
      await migrator.up({ to: "0001_initial" });
      await db.execute("insert into authors (name, born) values ('Ursula K. Le Guin', 1929), ('Voltaire', 1694)");
      expect((await migrator.up()).map(({ name }) => name)).toEqual(["0002_author_sort_name", "0003_fill_sort_names"]);
      expect(await authors()).toMatchObject([{ sort_name: "Le Guin, Ursula K." }, { sort_name: "Voltaire" }]);
      await expect(db.execute("insert into authors (name) values ('Nobody')")).rejects.toThrow("sort_name");
      await migrator.down({ to: "0001_initial" });
      expect(await authors()).toEqual([
        { id: 1, name: "Ursula K. Le Guin", born: 1929 },
        { id: 2, name: "Voltaire", born: 1694 },
      ]);
      await migrator.up();
      expect(await authors()).toMatchObject([{ sort_name: "Le Guin, Ursula K." }, { sort_name: "Voltaire" }]);
      // The embedded database is in the memory of this process.
      if (engine.name === "postgres") {
        const outcome = await stoa("migrate", "diff", "--database", url);
        expect(outcome).toEqual([0, "the database is as its migrations made it\n"]);
      }
      await migrator.down({ to: null });
      expect((await migrator.status()).map(({ state }) => state)).toEqual(["pending", "pending", "pending"]);
    });
  });
});
