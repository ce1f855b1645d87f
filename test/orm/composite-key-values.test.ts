import { beforeEach, expect, it } from "vitest";
import { FieldError, field, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Room extends Model("cv_rooms", { id: field.int({ primaryKey: true }) }) {}

class Slot extends Model(
  "cv_slots",
  { room: field.foreignKey(() => Room), at: field.datetime(), badge: field.bytes(), title: field.text() },
  { primaryKey: ["room", "at", "badge"] },
) {}

class Booking extends Model("cv_bookings", {
  id: field.auto(),
  room: field.foreignKey(() => Room),
  at: field.datetime(),
  badge: field.bytes(),
  who: field.text({ default: "a" }),
  slot: field.compositeForeignKey(() => Slot, ["room", "at", "badge"]),
}) {}

class Page extends Model("cv_pages", { a: field.text(), b: field.text() }, { primaryKey: ["a", "b"] }) {}
class Note extends Model("cv_notes", {
  id: field.auto(),
  a: field.text({ null: true }),
  b: field.text({ null: true }),
  page: field.compositeForeignKey(() => Page, ["a", "b"], { null: true }),
}) {}
class Word extends Model("cv_words", { text: field.text({ primaryKey: true }) }) {}
class Use extends Model("cv_uses", { id: field.auto(), word: field.foreignKey(() => Word, { null: true }) }) {}

const models = [Room, Slot, Booking, Page, Note, Word, Use];
const at = "2026-01-01T10:00:00.000Z";

describeDatabases("values of composite keys", service("postgres"), models, (db) => {
  beforeEach(async () => {
    await truncate(db(), models);
    await Room.objects.create({ id: 1 });
    // Neither byte is valid UTF-8: as text they would be the same.
    await Slot.objects.bulkCreate([
      { room: 1, at: new Date(at), badge: new Uint8Array([200]), title: "first" },
      { room: 1, at: new Date(at), badge: new Uint8Array([201]), title: "second" },
    ]);
  });

  async function booked(): Promise<Booking> {
    const slot = await Slot.objects.get({ title: "second" });
    return Booking.objects.create({ room: 1, at: new Date(at), badge: new Uint8Array([201]), slot });
  }

  it("A relation over a date and bytes stays loaded", async () => {
    await booked();
    for (const query of [Booking.objects.selectRelated("slot"), Booking.objects.prefetchRelated("slot")]) {
      const [booking] = await query;
      expect(booking?.slot.title).toBe("second");
      booking!.who = "b";
      await booking!.save();
      expect(booking?.slot.title).toBe("second");
    }
  });

  it("A relation that is loaded is dropped when a date of its key changes", async () => {
    await booked();
    const booking = await Booking.objects.selectRelated("slot").get({ who: "a" });
    booking.at = new Date("2026-01-02T10:00:00.000Z");
    expect(booking.slot).not.toBeInstanceOf(Slot);
  });

  it("Fields given beside the row may be equal dates, texts of them, and instances", async () => {
    const [room, slot] = [await Room.objects.get({ id: 1 }), await Slot.objects.get({ title: "second" })];
    const badge = new Uint8Array([201]);
    for (const given of [{ at: new Date(at) }, { at }])
      expect((await Booking.objects.create({ room, badge, slot, ...given })).roomId).toBe(1);
    const wrong = { room, badge, slot, at: new Date(0) };
    await expect(Booking.objects.create(wrong)).rejects.toThrow(
      "Booking.slot and Booking.at are both given, and differ",
    );
  });

  it("A subquery without rows matches nothing, and one with rows is compared by value", async () => {
    await booked();
    const none = Slot.objects.none();
    expect(await Booking.objects.filter({ slot__in: none }).count()).toBe(0);
    expect(await Booking.objects.exclude({ slot__in: none }).count()).toBe(1);
    expect(await Booking.objects.filter({ slot: none }).count()).toBe(0);
    expect(await Booking.objects.filter({ slot: Slot.objects.filter({ title: "second" }) }).count()).toBe(1);
    expect(await Booking.objects.filter({ slot: Slot.objects.filter({ title: "first" }) }).count()).toBe(0);
    expect(await Booking.objects.filter({ slot__ne: Slot.objects.filter({ title: "first" }) as never }).count()).toBe(
      1,
    );
  });

  it("An object without a class is refused by name", () => {
    expect(() => new Booking({ slot: Object.create(null) as never } as never)).toThrow(FieldError);
  });

  it("A relation without a column of its own is refused by what it is where a column is needed", () => {
    expect(() => Booking.objects.only("slot" as never)).toThrow(
      "Booking.slot stands for several columns: name its fields",
    );
  });

  it("A null in a key is not the text 'null'", async () => {
    await Page.objects.bulkCreate([
      { a: "null", b: "null" },
      { a: "1", b: "23" },
      { a: "12", b: "3" },
    ]);
    await Note.objects.bulkCreate([
      { a: "null", b: "null" },
      { a: "null", b: null },
      { a: null, b: null },
      { a: "12", b: "3" },
    ]);
    const notes = await Note.objects.orderBy("id").prefetchRelated("page");
    expect(JSON.parse(JSON.stringify(notes)).map((note: { page: unknown }) => note.page)).toEqual([
      { a: "null", b: "null" },
      null,
      null,
      { a: "12", b: "3" },
    ]);
    await Word.objects.create({ text: "null" });
    await Use.objects.bulkCreate([{ word: "null" }, { word: null }]);
    const uses = await Use.objects.orderBy("id").prefetchRelated("word");
    expect(JSON.parse(JSON.stringify(uses)).map((use: { word: unknown }) => use.word)).toEqual([
      { text: "null" },
      null,
    ]);
  });
});
