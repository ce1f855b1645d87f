import assert from "node:assert/strict";
import { openDatabase, UniqueViolation } from "stoa";
import {
  bindDatabase,
  type CreateInput,
  createTables,
  field,
  type Manager,
  Model,
  QuerySet,
  softDelete,
  timestamps,
} from "stoa/orm";

/** Composite keys, rows that are deleted softly, JSON, lists, hooks and querysets of a class. */

class Ward extends Model("wards", { code: field.char({ maxLength: 4, primaryKey: true }), beds: field.int() }) {}

class PatientSet extends QuerySet<Patient> {
  adults() {
    return this.filter({ born__lt: "2000-01-01" });
  }
  on(ward: string) {
    return this.filter({ ward__code: ward });
  }
}

class Patient extends Model("patients", {
  id: field.uuid({ primaryKey: true, default: () => crypto.randomUUID() }),
  name: field.text(),
  email: field.text({ null: true, unique: true }),
  born: field.date(),
  allergies: field.array(field.text(), { default: [] }),
  notes: field.json<{ blood?: "A" | "B" | "0" }>({ default: {} }),
  ward: field.foreignKey(() => Ward, { null: true, onDelete: "set null" }),
  get visits() {
    return field.reverse(() => Visit, "patient");
  },
  ...timestamps(),
  ...softDelete(),
}) {
  static override get objects() {
    return PatientSet.of(Patient);
  }
}

class Visit extends Model(
  "visits",
  {
    get patient() {
      return field.foreignKey(() => Patient);
    },
    number: field.int(),
    reason: field.text({ default: "" }),
  },
  { primaryKey: ["patient", "number"] },
) {
  declare static objects: Manager<Visit>;
}

const db = await openDatabase("pglite:");
bindDatabase(db);
await createTables(db, [Ward, Patient, Visit]);

const saved: string[] = [];
const stop = Patient.on("beforeSave", (patient) => void saved.push(patient.name));
await Ward.objects.create({ code: "A1", beds: 12 });
const input: CreateInput<Patient> = { name: "Ann", email: "ann@example.org", born: "1980-05-01", ward: "A1" };
const ann = await Patient.objects.create({ ...input, allergies: ["nuts"], notes: { blood: "A" } });
stop();
const blood: "A" | "B" | "0" | undefined = ann.notes.blood;
assert.deepEqual([saved, blood, ann.allergies], [["Ann"], "A", ["nuts"]]);
await assert.rejects(Patient.objects.create(input), UniqueViolation);

await Visit.objects.create({ patient: ann, number: 1, reason: "fever" });
const visit = await Visit.objects.get({ patient: ann.id, number: 1 });
assert.deepEqual(visit.pk, [ann.id, 1]);
const adults = await Patient.objects.adults().on("A1").prefetchRelated("visits").selectRelated("ward");
assert.deepEqual(
  adults.map(({ ward, visits }) => [ward?.beds, visits.map(({ reason }) => reason)]),
  [[12, ["fever"]]],
);

const [same, created] = await Patient.objects.getOrCreate(
  { email: "ann@example.org" },
  { name: "x", born: "2001-01-01" },
);
assert.deepEqual([same.id, created], [ann.id, false]);
await db.transaction(async () => {
  ann.name = "Anna";
  await ann.save();
});
assert.equal((await Patient.objects.get({ id: ann.id })).name, "Anna");
await ann.delete();
assert.equal(await Patient.objects.count(), 0);
await ann.restore();
assert.equal(await Patient.objects.count(), 1);

await db.close();
console.log("clinic: ok");
