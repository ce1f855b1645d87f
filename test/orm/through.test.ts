import { beforeEach, expect, it } from "vitest";
import { field, type Manager, Model, mix, softDelete } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Person extends Model(
  "people",
  mix(softDelete(), {
    id: field.bigAuto(),
    name: field.text(),
    get friends() {
      return field.manyToMany(() => Person, { relatedName: "friendOf" });
    },
    get groups() {
      return field.reverse(() => Group, "members");
    },
  }),
) {
  declare static objects: Manager<Person>;
}

class Group extends Model(
  "groups",
  {
    slug: field.char({ maxLength: 20, primaryKey: true }),
    get members() {
      return field.manyToMany(() => Person, { through: () => Membership });
    },
    get memberships() {
      return field.reverse(() => Membership, "group");
    },
  },
  { schema: "club" },
) {}

class Membership extends Model(
  "memberships",
  {
    id: field.uuid({ primaryKey: true, defaultSql: "gen_random_uuid()" }),
    person: field.foreignKey(() => Person),
    group: field.foreignKey(() => Group),
    role: field.enum(["owner", "guest"], { default: "guest" }),
  },
  { schema: "club", unique: [["person", "group"]] },
) {}

/** Two keys of the table between lead to the same model. */
class Club extends Model("clubs", {
  id: field.auto(),
  get members() {
    return field.manyToMany(() => Person, { through: () => Entry, throughFields: ["club", "member"] });
  },
}) {}

class Entry extends Model("entries", {
  id: field.auto(),
  club: field.foreignKey(() => Club),
  sponsor: field.foreignKey(() => Person, { null: true, relatedName: "sponsored" }),
  member: field.foreignKey(() => Person, { relatedName: "entered" }),
}) {}

const models = [Person, Group, Membership, Club, Entry];

describeDatabases("relations between many", service("postgres"), models, (db) => {
  let ada: Person;
  let ben: Person;
  let cy: Person;
  beforeEach(async () => {
    await truncate(db(), models);
    [ada, ben, cy] = (await Person.objects.bulkCreate([{ name: "Ada" }, { name: "Ben" }, { name: "Cy" }])) as [
      Person,
      Person,
      Person,
    ];
  });

  it("A many-to-many relation can lead to the same model, and back", async () => {
    await ada.friends.add(ben, cy);
    await ben.friends.add(cy);
    expect((await ada.friends.orderBy("name")).map((person) => person.name)).toEqual(["Ben", "Cy"]);
    const back = cy.related("friendOf" as never) as unknown as Person["friends"];
    expect(await back.orderBy("name").flat("name")).toEqual(["Ada", "Ben"]);
    expect(await Person.objects.filter({ friends__name: "Cy" }).orderBy("id").flat("name")).toEqual(["Ada", "Ben"]);
    const people = await Person.objects.prefetchRelated("friends__friends").orderBy("id");
    expect(people[0]!.friends[0]!.friends.map((person) => person.name)).toEqual(["Cy"]);
  });

  it("A many-to-many relation can have a model of its own for the table between", async () => {
    const chess = await Group.objects.create({ slug: "chess" });
    await chess.members.add(ada, ben);
    await Membership.objects.filter({ person: ada }).update({ role: "owner" });
    expect(
      await Group.objects.filter({ memberships__role: "owner", memberships__person__name: "Ada" }).flat("slug"),
    ).toEqual(["chess"]);
    expect(await Group.objects.filter({ memberships__role: "owner", memberships__person__name: "Ben" }).count()).toBe(
      0,
    );
    expect((await ada.groups).map((group) => group.slug)).toEqual(["chess"]);
    const [loaded] = await Group.objects.prefetchRelated("members", "memberships__person");
    expect(loaded!.members.map((person) => person.name)).toEqual(["Ada", "Ben"]);
    expect(loaded!.memberships.map((membership) => `${membership.person.name} ${membership.role}`).sort()).toEqual([
      "Ada owner",
      "Ben guest",
    ]);
    await chess.members.set([cy]);
    expect(await chess.members.flat("name")).toEqual(["Cy"]);
    const json = (await Group.objects.prefetchRelated("members").json()).value();
    expect(json).toEqual([{ slug: "chess", members: [{ id: "3", name: "Cy", deletedAt: null }] }]);
  });

  it("The option throughFields names the keys of a table between that has several to one model", async () => {
    const chess = await Club.objects.create({});
    await Entry.objects.create({ club: chess, sponsor: ada, member: ben });
    await chess.members.add(cy);
    expect(await chess.members.orderBy("name").flat("name")).toEqual(["Ben", "Cy"]);
  });

  it("A relation to many leaves out softly deleted rows, but a row that refers to one still finds it", async () => {
    await ada.friends.add(ben, cy);
    const chess = await Group.objects.create({ slug: "chess" });
    const membership = await Membership.objects.create({ person: ben, group: chess });
    await ben.delete();
    expect(await ada.friends.flat("name")).toEqual(["Cy"]);
    expect(await Person.objects.filter({ friends__name: "Ben" }).count()).toBe(0);
    const [read] = await Membership.objects.all();
    expect((await read!.person).name).toBe("Ben");
    expect((await Membership.objects.selectRelated("person").get({ id: membership.id })).person.name).toBe("Ben");
    expect(JSON.parse((await Membership.objects.prefetchRelated("person").json()).text)).toMatchObject([
      { person: { name: "Ben" } },
    ]);
  });

  it("Models are safe on a server that treats backslashes as escapes", async () => {
    await db().transaction(async (tx) => {
      await tx.execute("set local standard_conforming_strings = off");
      await tx.execute("set local escape_string_warning = off");
      const evil = "\\' or 1=1 --";
      const person = await Person.objects.using(tx).create({ name: evil });
      expect(person.name).toBe(evil);
      expect(await Person.objects.using(tx).filter({ name: evil }).count()).toBe(1);
      expect(await Person.objects.using(tx).filter({ name__contains: "\\'" }).count()).toBe(1);
      expect(await Person.objects.using(tx).filter({ name__contains: "\\%" }).count()).toBe(0);
      expect(
        ((await Person.objects.using(tx).filter({ name: evil }).json()).value() as { name: string }[])[0]!.name,
      ).toBe(evil);
    });
  });
});
