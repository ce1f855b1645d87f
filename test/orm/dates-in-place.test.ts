import { beforeEach, expect, it } from "vitest";
import { field, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Meeting extends Model("meetings", {
  id: field.auto(),
  title: field.text(),
  at: field.datetime(),
  ends: field.datetime({ null: true }),
}) {}

class Tick extends Model("ticks", { at: field.datetime({ primaryKey: true }), note: field.text({ default: "" }) }) {}

describeDatabases("dates of instances", service("postgres"), [Meeting, Tick], (db) => {
  beforeEach(() => truncate(db(), [Meeting, Tick]));
  const noon = new Date("2026-01-01T12:00:00Z");

  it("A Date that is changed in place is saved", async () => {
    const made = await Meeting.objects.create({ title: "a", at: noon, ends: noon });
    const [read] = await Meeting.objects.all();
    for (const [hour, meeting] of [made, read!].entries()) {
      meeting.at.setUTCHours(13 + hour);
      meeting.ends!.setUTCHours(15 + hour);
      await meeting.save();
      const stored = await Meeting.objects.get({ id: made.id });
      expect([stored.at.getUTCHours(), stored.ends!.getUTCHours()]).toEqual([13 + hour, 15 + hour]);
    }
    await Meeting.objects.bulkUpdate([read!], ["at"]);
    read!.at.setUTCHours(20);
    await read!.save();
    expect((await Meeting.objects.get({ id: made.id })).at.getUTCHours()).toBe(20);
  });

  it("A Date that is unchanged, or replaced by an equal one, is not written", async () => {
    const meeting = await Meeting.objects.create({ title: "a", at: noon });
    await Meeting.objects.update({ at: new Date(0) });
    meeting.at = new Date(noon);
    meeting.title = "b";
    await meeting.save();
    expect((await Meeting.objects.get({ id: meeting.id })).at).toEqual(new Date(0));
  });

  it("A row whose key is a Date is found after the Date was changed in place", async () => {
    const tick = await Tick.objects.create({ at: new Date(noon) });
    tick.at.setUTCHours(14);
    await tick.save();
    expect(await Tick.objects.flat("at")).toEqual([new Date("2026-01-01T14:00:00Z")]);
    await tick.delete();
    expect(await Tick.objects.count()).toBe(0);
  });
});
