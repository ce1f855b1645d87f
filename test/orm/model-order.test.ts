import { describe, expect, it } from "vitest";
import { openDatabase } from "../../src/engines/db/open-database.js";
import {
  createTablesSql,
  field,
  Model,
  type ModelConstructor,
  mix,
  type QuerySet,
  timestamps,
} from "../../src/entry/orm.js";
import { desiredSchema } from "../../src/orm/schema/state-of-models.js";
import { emptyDatabases } from "../engines/db/engines.js";
import { service } from "../support/service.js";

const empty = emptyDatabases(service("postgres"));

/** Each call declares new classes, as a new process does. The last class of each model is the one that applications use. */
type Shape = () => Record<string, ModelConstructor>;

const shapes: Record<string, Shape> = {
  "a many-to-many relation with relatedName": () => {
    class Product extends Model("products", {
      id: field.auto(),
      name: field.text(),
      tags: field.manyToMany(() => Tag, { relatedName: "products" }),
    }) {}
    class Tag extends Model("tags", { id: field.auto(), name: field.text() }) {}
    return { Product, Tag };
  },
  "classes that are not named after their tables": () => {
    class Article extends Model("blog_posts", {
      id: field.auto(),
      name: field.text(),
      topics: field.manyToMany(() => Subject, { relatedName: "articles" }),
    }) {}
    class Subject extends Model("categories", { id: field.auto(), name: field.text() }) {}
    return { Article, Subject };
  },
  "a relation of a model to itself": () => {
    class Person extends Model("people", {
      id: field.auto(),
      name: field.text(),
      get friends() {
        return field.manyToMany(() => Person, { relatedName: "friendOf" });
      },
      get parent() {
        return field.foreignKey(() => Person, { null: true, relatedName: "children" });
      },
    }) {}
    return { Person };
  },
  "a model between": () => {
    class Group extends Model("groups", {
      id: field.auto(),
      name: field.text(),
      get members() {
        return field.manyToMany(() => Member, { through: () => Membership, relatedName: "groups" });
      },
    }) {}
    class Member extends Model("members", { id: field.auto(), name: field.text() }) {}
    class Membership extends Model("memberships", {
      id: field.auto(),
      name: field.text(),
      member: field.foreignKey(() => Member, { relatedName: "memberships" }),
      group: field.foreignKey(() => Group, { relatedName: "memberships" }),
    }) {}
    return { Group, Member, Membership };
  },
  "models in a circle": () => {
    class Team extends Model("teams", {
      id: field.auto(),
      name: field.text(),
      get captain() {
        return field.oneToOne(() => Player, { null: true, relatedName: "captainOf" });
      },
      get rivals() {
        return field.manyToMany(() => League, { relatedName: "teams" });
      },
    }) {}
    class Player extends Model("players", {
      id: field.auto(),
      name: field.text(),
      get team() {
        return field.foreignKey(() => Team, { relatedName: "players" });
      },
    }) {}
    class League extends Model("leagues", {
      id: field.auto(),
      name: field.text(),
      players: field.manyToMany(() => Player, { relatedName: "leagues" }),
    }) {}
    return { Team, Player, League };
  },
  "mixins and classes that extend a model's class": () => {
    const named = (): { name: ReturnType<typeof field.text> } => ({ name: field.text() });
    class BaseOrder extends Model(
      "orders",
      mix(timestamps(), named(), {
        id: field.auto(),
        lines: field.manyToMany(() => Line, { relatedName: "orders" }),
      }),
    ) {}
    class Order extends BaseOrder {}
    class BaseLine extends Model("order_lines", mix(named(), { id: field.auto() })) {}
    class Line extends BaseLine {}
    return { Order, Line };
  },
};

describe("names of tables and columns", () => {
  for (const [name, shape] of Object.entries(shapes)) {
    it(`The order in which models are used changes no table or column name with ${name}`, () => {
      const expected = describeModels(shape(), Object.keys(shape()));
      for (const order of permutations(Object.keys(expected.sql))) {
        expect(describeModels(shape(), order), `in the order ${order.join(", ")}`).toEqual(expected);
      }
    });
  }

  it("A relation can be filled in a database whose tables were made in another order", async () => {
    const { Product: first, Tag: second } = shapes["a many-to-many relation with relatedName"]!();
    const migrated = createTablesSql([second!.meta, first!.meta]);
    expect(migrated).toContain('"product_id"');
    const db = await openDatabase(await empty());
    try {
      await db.script(migrated);
      const { Product, Tag } = shapes["a many-to-many relation with relatedName"]!() as Record<string, Queried>;
      const product = await Product!.objects.using(db).create({ name: "chair" });
      const tag = await Tag!.objects.using(db).create({ name: "oak" });
      await product.related("tags").add(tag);
      expect(
        await Tag!.objects
          .using(db)
          .filter({ products__name: "chair" } as never)
          .count(),
      ).toBe(1);
      expect(await tag.related("products").count()).toBe(1);
    } finally {
      await db.close();
    }
  });
});

describe("a relation whose other module is not loaded yet", () => {
  it("A relation whose other module is not loaded yet works once that module is loaded", () => {
    let Late: unknown;
    class Early extends Model("earlies", {
      id: field.auto(),
      late: field.foreignKey(() => Late as ModelConstructor, { relatedName: "earlies" }),
    }) {}
    expect(() => Early.meta.relations.get("late")!.target).toThrow(/returned undefined/);
    Late = class Later extends Model("lates", { id: field.auto() }) {};
    expect((Late as ModelConstructor).meta.relations.has("earlies")).toBe(true);
    expect(Early.meta.relations.get("late")!.target.table).toBe("lates");
  });
});

describe("relatedName", () => {
  it("Two fields that lead to one model cannot have the same relatedName", () => {
    class Target extends Model("rn_targets", { id: field.auto() }) {}
    class One extends Model("rn_ones", {
      id: field.auto(),
      to: field.foreignKey(() => Target, { relatedName: "things" }),
    }) {}
    class Two extends Model("rn_twos", {
      id: field.auto(),
      to: field.foreignKey(() => Target, { relatedName: "things" }),
    }) {}
    expect(Target.meta.relations.has("things")).toBe(true);
    expect(One.meta.table).toBe("rn_ones");
    for (let i = 0; i < 2; i++) {
      expect(() => Two.meta).toThrow("relatedName 'things' on Target is used by rn_ones.to and by rn_twos.to");
    }
  });

  it("A relatedName that is the name of a column is refused where the model is used", () => {
    class Target extends Model("rn_columns", { id: field.auto(), title: field.text() }) {}
    class Wrong extends Model("rn_wrongs", {
      id: field.auto(),
      to: field.foreignKey(() => Target, { relatedName: "title" }),
    }) {}
    expect(Target.meta.relations.size).toBe(0);
    expect(() => Wrong.meta).toThrow("relatedName 'title' of rn_wrongs.to is a column of Target");
  });
});

it("A model that no class extends is named after its table", () => {
  expect(Model("unextended", { id: field.auto() }).meta.name).toBe("unextended");
});

interface Queried extends ModelConstructor {
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are only known at run time.
  readonly objects: QuerySet<any>;
}

/** Uses the models in an order, compiling queries as each is first used, then describes all of them. */
function describeModels(models: Record<string, ModelConstructor>, order: readonly string[]) {
  const sql: Record<string, string[]> = {};
  for (const name of order) {
    const model = models[name] as Queried;
    sql[name] = [...model.meta.relations.keys()]
      .toSorted()
      .map((relation) => model.objects.filter({ [`${relation}__name`]: "x" } as never).toSql().text);
  }
  const metas = Object.values(models).map((model) => model.meta);
  return {
    sql,
    schema: desiredSchema(metas),
    tables: createTablesSql(metas),
    names: metas.map((meta) => [meta.name, meta.model.name, [...meta.relations.keys()].toSorted()]),
  };
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item) => permutations(items.filter((each) => each !== item)).map((rest) => [item, ...rest]));
}
