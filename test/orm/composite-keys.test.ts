import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Queries } from "../../src/engines/db/database.js";
import { ForeignKeyViolation, NotNullViolation, ParameterTypeError } from "../../src/engines/db/errors.js";
import { count, createTablesSql, F, FieldError, field, Model, prefetch } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Tenant extends Model("ck_tenants", { id: field.int({ primaryKey: true }), name: field.text() }) {}

class Line extends Model(
  "ck_lines",
  {
    tenant: field.foreignKey(() => Tenant),
    number: field.int(),
    title: field.text(),
    get shipments() {
      return field.reverse(() => Shipment, "line");
    },
    get label() {
      return field.reverseOne(() => Label, "line");
    },
  },
  { primaryKey: ["tenant", "number"], ordering: ["number"] },
) {}

class Shipment extends Model("ck_shipments", {
  id: field.auto(),
  tenantId: field.int(),
  lineNumber: field.int({ null: true }),
  carrier: field.text({ default: "post" }),
  line: field.compositeForeignKey(() => Line, ["tenantId", "lineNumber"], {
    null: true,
    onDelete: "set null",
    setNull: ["lineNumber"],
  }),
}) {}

/** The same table, with an order by the key. */
class ByLine extends Model(
  "ck_shipments",
  {
    id: field.auto(),
    tenantId: field.int(),
    lineNumber: field.int({ null: true }),
    carrier: field.text(),
    line: field.compositeForeignKey(() => Line, ["tenantId", "lineNumber"], { null: true }),
  },
  { ordering: ["-line", "id"], managed: false },
) {}

class Label extends Model(
  "ck_labels",
  {
    tenant: field.foreignKey(() => Tenant),
    line_number: field.int(),
    text: field.text(),
    line: field.compositeForeignKey(() => Line, ["tenant", "line_number"], { unique: true }),
  },
  { primaryKey: ["tenant", "line_number"] },
) {}

class Box extends Model("ck_boxes", {
  id: field.auto(),
  get items() {
    return field.reverse(() => Item, "box");
  },
}) {}
class Item extends Model(
  "ck_items",
  { shelf: field.int(), number: field.int(), box: field.foreignKey(() => Box, { null: true }) },
  { primaryKey: ["shelf", "number"] },
) {}

const models = [Tenant, Line, Shipment, Label, Box, Item];

describeDatabases("foreign keys over several columns", service("postgres"), models, (db) => {
  beforeEach(async () => {
    await truncate(db(), models);
    await Tenant.objects.bulkCreate([
      { id: 1, name: "one" },
      { id: 2, name: "two" },
    ]);
    await Line.objects.bulkCreate([
      { tenantId: 1, number: 1, title: "a" },
      { tenantId: 1, number: 2, title: "b" },
      { tenantId: 2, number: 1, title: "c" },
    ]);
    await Shipment.objects.bulkCreate([
      { tenantId: 1, lineNumber: 1, carrier: "x" },
      { tenantId: 1, lineNumber: 1, carrier: "y" },
      { tenantId: 2, lineNumber: 1, carrier: "z" },
      { tenantId: 2, carrier: "loose" },
    ]);
    await Label.objects.create({ tenantId: 1, line_number: 2, text: "fragile" });
  });

  /** The statements that a function sends, in a transaction of its own. */
  const statements = (run: (tx: Queries) => Promise<unknown>): Promise<string[]> =>
    db().transaction(async (tx) => {
      const sent = vi.spyOn(tx, "fetchArrays");
      await run(tx);
      return sent.mock.calls.map(([statement]) => String(statement));
    });

  const carriers = async (rows: PromiseLike<readonly { carrier: string }[]>): Promise<string[]> =>
    (await rows).map((row) => row.carrier).sort();

  it("The database refuses a row that refers to no row, and only compares keys without null", async () => {
    await expect(Shipment.objects.create({ tenantId: 2, lineNumber: 2 })).rejects.toThrow(ForeignKeyViolation);
    expect((await Shipment.objects.create({ tenantId: 9 })).lineNumber).toBeNull();
  });

  it("A deleted row sets only the columns of setNull to null", async () => {
    await (await Line.objects.get({ tenant: 1, number: 1 })).delete();
    expect(await Shipment.objects.filter({ carrier: "x" }).values("tenantId", "lineNumber")).toEqual([
      { tenantId: 1, lineNumber: null },
    ]);
  });

  it("Filters go along the relation in both directions", async () => {
    expect(await carriers(Shipment.objects.filter({ line__title: "a" }))).toEqual(["x", "y"]);
    expect(await carriers(Shipment.objects.filter({ line__tenant__name: "two" }))).toEqual(["z"]);
    expect(await Line.objects.filter({ shipments__carrier: "z" }).flat("title")).toEqual(["c"]);
    expect(await Line.objects.filter({ label__text: "fragile" }).flat("title")).toEqual(["b"]);
    expect(await Line.objects.filter({ shipments: null }).flat("title")).toEqual(["b"]);
    expect(await Label.objects.filter({ line__shipments__isnull: true }).flat("text")).toEqual(["fragile"]);
  });

  it("The relation is compared with instances, with lists of them, with null and with subqueries", async () => {
    const [a, b] = await Line.objects.orderBy("tenant", "number");
    expect(await carriers(Shipment.objects.filter({ line: a! }))).toEqual(["x", "y"]);
    expect(await carriers(Shipment.objects.filter({ line__ne: a! }))).toEqual(["loose", "z"]);
    expect(await carriers(Shipment.objects.filter({ line__in: [a!, b!] }))).toEqual(["x", "y"]);
    expect(await carriers(Shipment.objects.filter({ line__in: [] }))).toEqual([]);
    expect(await carriers(Shipment.objects.filter({ line: null }))).toEqual(["loose"]);
    expect(await carriers(Shipment.objects.filter({ line__isnull: false }))).toEqual(["x", "y", "z"]);
    expect(await carriers(Shipment.objects.exclude({ line: a! }))).toEqual(["loose", "z"]);
    expect(await carriers(Shipment.objects.filter({ line__in: Line.objects.filter({ tenant: 2 }) }))).toEqual(["z"]);
    expect(await Line.objects.filter({ label: await Label.objects.get() }).flat("title")).toEqual(["b"]);
    const loose = await Shipment.objects.get({ carrier: "z" });
    expect(await Line.objects.filter({ shipments: loose }).flat("title")).toEqual(["c"]);
  });

  it("A key with a null in it is not before, after or between other keys", async () => {
    const tenant = (await Shipment.objects.get({ carrier: "loose" })).tenantId;
    const others: readonly (readonly [number, number])[] = [
      [tenant - 1, 0],
      [tenant + 1, 0],
    ];
    const found = [
      await carriers(Shipment.objects.filter({ line__gt: others[0]! })),
      await carriers(Shipment.objects.filter({ line__lte: others[1]! })),
      await carriers(Shipment.objects.filter({ line__range: [others[0]!, others[1]!] })),
    ];
    for (const each of found) expect(each).not.toContain("loose");
    expect(found.flat()).not.toEqual([]);
  });

  it("A composite primary key is compared as a whole", async () => {
    const [, , c] = await Line.objects.orderBy("tenant", "number");
    const lines = Line.objects.orderBy("pk");
    expect(await Line.objects.filter({ pk: c } as never).flat("title")).toEqual(["c"]);
    expect(await lines.filter({ pk: [1, 2] }).flat("title")).toEqual(["b"]);
    expect(await lines.filter({ pk__in: [[1, 2], c!.pk] }).flat("title")).toEqual(["b", "c"]);
    expect(await lines.filter({ pk__gt: [1, 1] }).flat("title")).toEqual(["b", "c"]);
    expect(await lines.filter({ pk__gte: [1, 2] }).flat("title")).toEqual(["b", "c"]);
    expect(await lines.filter({ pk__lt: [1, 2] }).flat("title")).toEqual(["a"]);
    expect(await lines.filter({ pk__lte: [1, 2] }).flat("title")).toEqual(["a", "b"]);
    const [from, to] = [[1, 2] as const, [2, 0] as const];
    expect(await lines.filter({ pk__range: [from, to] }).flat("title")).toEqual(["b"]);
    const keys = Line.objects.valuesList("tenantId", "number");
    expect(await lines.filter({ pk__gt: keys.filter({ title: "b" }) }).flat("title")).toEqual(["c"]);
    expect(await lines.filter({ pk__gt: keys.none() }).flat("title")).toEqual([]);
    expect(await carriers(Shipment.objects.filter({ line: [1, 1] }))).toEqual(["x", "y"]);
    expect(await carriers(Shipment.objects.filter({ line__gte: [2, 0] }))).toEqual(["z"]);
  });

  it("A composite key orders rows by its columns, in both directions and through relations", async () => {
    await Shipment.objects.create({ tenantId: 1, lineNumber: 2, carrier: "w" });
    expect(await Shipment.objects.orderBy("line", "id").flat("carrier")).toEqual(["x", "y", "w", "z", "loose"]);
    expect(await Shipment.objects.orderBy("-line", "id").flat("carrier")).toEqual(["loose", "z", "w", "x", "y"]);
    expect(await Shipment.objects.orderFrom("-line,id", ["line", "id"]).flat("carrier")).toHaveLength(5);
    expect(await Line.objects.orderBy("-pk").flat("title")).toEqual(["c", "b", "a"]);
    expect(await Line.objects.orderBy("label", "-pk").flat("title")).toEqual(["b", "c", "a"]);
    expect(await Shipment.objects.distinct("line").orderBy("line", "-id").flat("carrier")).toEqual([
      "y",
      "w",
      "z",
      "loose",
    ]);
    expect(await ByLine.objects.flat("carrier")).toHaveLength(5);
    expect((await ByLine.objects.all())[0]?.carrier).toBe("loose");
  });

  it("Rows with a composite key are counted", async () => {
    await Box.objects.create({ items: [1, 2].map((number) => ({ shelf: 1, number })) });
    await Box.objects.create({});
    expect(
      await Box.objects
        .annotate({ n: count("items") })
        .orderBy("id")
        .flat("n"),
    ).toEqual([2, 0]);
    expect(
      await Box.objects
        .values("id")
        .annotate({ n: count("items") })
        .orderBy("id")
        .flat("n"),
    ).toEqual([2, 0]);
    await expect(Box.objects.annotate({ n: count("items", { distinct: true }) }).toArray()).rejects.toThrow(
      "Item has a composite key: name its fields",
    );
  });

  it("Wrong values and lookups of a composite key are refused by name", async () => {
    const refused = async (lookups: object): Promise<Error> => {
      const error: unknown = await Shipment.objects.filter(lookups as never).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      return error as Error;
    };
    expect(await refused({ line: 1 })).toBeInstanceOf(ParameterTypeError);
    expect((await refused({ line: [1] })).message).toBe('"line" takes an instance of Line, or a list of 2 values');
    expect(await refused({ line__in: 3 })).toBeInstanceOf(ParameterTypeError);
    expect(await refused({ line__isnull: "yes" })).toBeInstanceOf(ParameterTypeError);
    expect((await refused({ line__contains: [1, 2] })).message).toContain("gt, gte, lt, lte, in, range and isnull");
    expect((await refused({ line__range: [1, 2] })).message).toContain("takes an instance of Line");
    expect((await refused({ line__range: [[1, 2]] })).message).toContain("takes a list of two keys of Line");
    expect((await refused({ line: await Tenant.objects.first() })).message).toContain("an instance of Tenant");
    expect((await refused({ line: new Line({ title: "new" }) })).message).toContain("is not saved: it has no tenant");
    expect((await refused({ line__in: Tenant.objects.all() })).message).toContain("the query is for Tenant");
    expect(() => Shipment.objects.values("line" as "id")).toThrow(/stands for several columns/);
    expect(() => Shipment.objects.orderBy("line__gt" as "id")).toThrow(FieldError);
  });

  it("A key without nulls is read from the row itself, and one that can be null from the other row", async () => {
    const sent = await statements(async (tx) => {
      expect(await Label.objects.using(tx).values("line__number", "line__tenant")).toEqual([
        { line__number: 2, line__tenant: 1 },
      ]);
      expect(await Shipment.objects.using(tx).filter({ carrier: "loose" }).values("line__tenant")).toEqual([
        { line__tenant: null },
      ]);
    });
    expect(sent.map((text) => text.includes("JOIN"))).toEqual([false, true]);
  });

  it("selectRelated() and prefetchRelated() load the relation in both directions", async () => {
    const sent = await statements(async (tx) => {
      const rows = await Shipment.objects.using(tx).selectRelated("line__tenant").orderBy("id");
      expect(rows.map((row) => row.line && [row.line.title, row.line.tenant.name])).toEqual([
        ["a", "one"],
        ["a", "one"],
        ["c", "two"],
        null,
      ]);
      const lines = await Line.objects.using(tx).prefetchRelated("shipments", "label").orderBy("tenant", "number");
      expect(lines.map((line) => [line.shipments.map((each) => each.carrier), line.label?.text])).toEqual([
        [["x", "y"], undefined],
        [[], "fragile"],
        [["z"], undefined],
      ]);
      const forward = await Shipment.objects.using(tx).prefetchRelated("line").orderBy("id");
      expect(forward.map((row) => row.line?.title)).toEqual(["a", "a", "c", undefined]);
    });
    expect(sent).toHaveLength(6);
  });

  it("A prefetch has a limit for each owner, and JSON nests the same rows", async () => {
    const newest = prefetch("shipments", Shipment.objects.only("carrier").orderBy("-id").limit(1));
    const lines = await Line.objects.prefetchRelated(newest).orderBy("tenant", "number");
    expect(lines.map((line) => line.shipments.map((each) => each.carrier))).toEqual([["y"], [], ["z"]]);
    const json = (await Line.objects.prefetchRelated(newest).orderBy("tenant", "number").json()).value();
    expect((json as { shipments: { carrier: string }[] }[]).map((line) => line.shipments[0]?.carrier)).toEqual([
      "y",
      undefined,
      "z",
    ]);
    const rows = (await Shipment.objects.selectRelated("line").orderBy("id").json()).value();
    expect((rows as { line: { title: string } | null }[]).map((row) => row.line?.title)).toEqual([
      "a",
      "a",
      "c",
      undefined,
    ]);
  });

  it("Aggregates join the relation", async () => {
    expect(
      await Line.objects
        .annotate({ n: count("shipments") })
        .orderBy("tenant", "number")
        .flat("n"),
    ).toEqual([2, 0, 1]);
    expect(await Shipment.objects.values("line__title").annotate({ n: count() }).filter({ n: 2 })).toEqual([
      { line__title: "a", n: 2 },
    ]);
    expect(await Shipment.objects.filter({ tenantId: F("line__number") }).flat("carrier")).toEqual(["x", "y"]);
  });

  it("The relation of an instance is loaded when it is awaited, and follows its columns", async () => {
    const [first, , third, loose] = await Shipment.objects.orderBy("id");
    expect((await first!.line)?.title).toBe("a");
    expect(await loose!.line).toBeNull();
    first!.tenantId = 2;
    expect((await first!.line)?.title).toBe("c");
    first!.line = await Line.objects.get({ tenant: 1, number: 2 });
    await first!.save();
    expect(await Shipment.objects.filter({ id: first!.id }).values("tenantId", "lineNumber")).toEqual([
      { tenantId: 1, lineNumber: 2 },
    ]);
    Object.assign(third!, { line: null });
    expect([third!.tenantId, third!.lineNumber]).toEqual([2, null]);
    third!.tenantId = 1;
    third!.lineNumber = 1;
    await third!.save();
    expect((await third!.line)?.title).toBe("a");
    expect(() => Object.assign(first!, { line: new Tenant({ id: 1 }) })).toThrow(
      "Shipment.line takes an instance of Line",
    );
    const label = await Label.objects.get();
    expect(() => Object.assign(label, { line: null })).toThrow("Label.line cannot be null");
  });

  it("Rows are created and updated with the row that they refer to", async () => {
    const line = await Line.objects.get({ tenant: 2, number: 1 });
    const made = await Shipment.objects.create({ tenantId: 2, line, carrier: "new" });
    expect([made.tenantId, made.lineNumber]).toEqual([2, 1]);
    expect(await made.line).toBe(line);
    await expect(Shipment.objects.create({ tenantId: 1, line })).rejects.toThrow(/are both given, and differ/);
    await Shipment.objects.filter({ carrier: "x" }).update({ line });
    expect(await line.shipments.count()).toBe(3);
  });

  it("The set of related rows creates, adds, removes and replaces rows", async () => {
    const [a, b] = await Line.objects.orderBy("tenant", "number");
    const made = await b!.shipments.create({ carrier: "b1" });
    expect([made.tenantId, made.lineNumber]).toEqual([1, 2]);
    const [x, y] = await a!.shipments.orderBy("id");
    await b!.shipments.add(x!);
    expect(await carriers(b!.shipments)).toEqual(["b1", "x"]);
    await b!.shipments.remove(x!);
    expect(await carriers(b!.shipments)).toEqual(["b1"]);
    expect(await Shipment.objects.filter({ id: x!.id }).values("tenantId", "lineNumber")).toEqual([
      { tenantId: 1, lineNumber: null },
    ]);
    await b!.shipments.set([y!]);
    expect(await carriers(b!.shipments)).toEqual(["y"]);
    await b!.shipments.clear();
    expect(await b!.shipments.count()).toBe(0);
  });

  it("Related rows are created together with the row, in both directions", async () => {
    const line = await Line.objects.create({
      tenant: { id: 3, name: "three" },
      number: 7,
      title: "d",
      shipments: [{ carrier: "one" }, { carrier: "two" }],
      label: { text: "glass" },
    });
    expect(await carriers(Shipment.objects.filter({ line }))).toEqual(["one", "two"]);
    expect((await Label.objects.get({ line })).text).toBe("glass");
    const shipment = await Shipment.objects.create({
      tenantId: 1,
      carrier: "both",
      line: { tenantId: 1, number: 8, title: "e" },
    });
    expect(shipment.lineNumber).toBe(8);
    expect(JSON.parse(JSON.stringify(shipment))).toMatchObject({ line: { title: "e" } });
    await expect(
      Line.objects.create({ tenantId: 1, number: 9, title: "f", shipments: [{ tenantId: 1 } as never] }),
    ).rejects.toThrow("shipments[0].tenantId is set by Line.shipments: leave it out");
    await expect(Label.objects.create({ tenantId: 1, text: "none" } as never)).rejects.toThrow(NotNullViolation);
  });

  it("Rows with a composite key are removed from a relation by their whole key", async () => {
    const box = await Box.objects.create({ items: [1, 2, 3].map((number) => ({ shelf: 1, number })) });
    const [first, second] = await box.items.orderBy("number");
    await box.items.remove(first!);
    expect(await box.items.orderBy("number").flat("number")).toEqual([2, 3]);
    await box.items.set([second!]);
    expect(await box.items.flat("number")).toEqual([2]);
    await box.items.set([]);
    expect(await box.items.count()).toBe(0);
  });
});

describe("the declaration of a foreign key over several columns", () => {
  const target = () => Line;
  const declare = (fields: object, options?: object) => class extends Model("ck_wrong", fields as never, options) {};
  const id = field.auto();
  const [tenantId, lineNumber] = [field.int(), field.int()];

  it("The statements for the tables have the constraint, its index and its rules", () => {
    const sql = createTablesSql(models);
    expect(sql).toContain(
      'CONSTRAINT "ck_shipments_tenant_id_line_number_fkey" FOREIGN KEY ("tenant_id", "line_number") REFERENCES "ck_lines" ("tenant_id", "number") ON DELETE SET NULL ("line_number")',
    );
    expect(sql).toContain('"ck_shipments_tenant_id_line_number_idx" ON "ck_shipments" ("tenant_id", "line_number")');
    expect(sql).not.toContain("ck_labels_tenant_id_line_number_key");
  });

  it.each([
    [
      "an unknown field",
      () => declare({ id, tenantId, line: field.compositeForeignKey(target, ["tenantId", "lineNumer"]) }),
      "ck_wrong.line: ck_wrong has no field 'lineNumer'",
    ],
    [
      "a field that can be null",
      () =>
        declare({
          id,
          a: field.int({ null: true }),
          tenantId,
          line: field.compositeForeignKey(target, ["tenantId", "a"]),
        }),
      "a can be null: add null: true",
    ],
    [
      "null without a field that can be null",
      () =>
        declare({
          id,
          tenantId,
          lineNumber,
          line: field.compositeForeignKey(target, ["tenantId", "lineNumber"], { null: true }),
        }),
      "null: true needs a field that can be null",
    ],
    [
      "set null on a field that cannot be null",
      () =>
        declare({
          id,
          tenantId,
          lineNumber,
          line: field.compositeForeignKey(target, ["tenantId", "lineNumber"], { onDelete: "set null" }),
        }),
      "tenantId cannot be null",
    ],
    [
      "an unknown field of the target",
      () =>
        declare({
          id,
          tenantId,
          lineNumber,
          line: field.compositeForeignKey(target, ["tenantId", "lineNumber"], {
            references: ["tenant", "numbr"],
            relatedName: "w1",
          }),
        }),
      "Line has no field 'numbr'",
    ],
    [
      "two constraints with the same name",
      () =>
        declare({
          id,
          tenantId,
          lineNumber,
          line: field.compositeForeignKey(target, ["tenantId", "lineNumber"], { relatedName: "w3" }),
          label: field.compositeForeignKey(() => Label, ["tenantId", "lineNumber"], { relatedName: "w4" }),
        }),
      "ck_wrong.label: another foreign key has the constraint ck_wrong_tenant_id_line_number_fkey",
    ],
    [
      "a target with another number of fields",
      () =>
        declare({
          id,
          tenantId,
          lineNumber,
          line: field.compositeForeignKey(() => Tenant, ["tenantId", "lineNumber"], { relatedName: "w2" }),
        }),
      "has 2 fields, but the primary key of Tenant has 1",
    ],
  ])("It refuses %s when the model is used", (_name, make, message) => {
    const model = make();
    expect(() => createTablesSql([model as never])).toThrow(message);
  });

  it("It refuses a wrong list of fields at once", () => {
    expect(() => field.compositeForeignKey(target, ["a"] as never)).toThrow("use field.foreignKey for one");
    expect(() => field.compositeForeignKey(target, ["a", "a"])).toThrow("the same field twice");
    expect(() => field.compositeForeignKey(target, ["a", "b"], { references: ["c"] })).toThrow("refers to 1");
    expect(() => field.compositeForeignKey(target, ["a", "b"], { setNull: ["a"] })).toThrow("'setNull' needs");
    const rule = { null: true, onDelete: "set null" } as const;
    expect(() => field.compositeForeignKey(target, ["a", "b"], { ...rule, setNull: [] })).toThrow("one field or more");
    expect(() => field.compositeForeignKey(target, ["a", "b"], { ...rule, setNull: ["a", "a"] })).toThrow("each once");
    expect(() => field.compositeForeignKey(Line as never, ["a", "b"])).toThrow("a function that returns the model");
  });
});
