import { describe, expect, it } from "vitest";
import { DatabaseError, OperationalError, UniqueViolation } from "../../../src/engines/db/errors.js";
import { translateError } from "../../../src/engines/db/translate-error.js";

const violation = { severity: "FEHLER", code: "23505", message: "doppelter Schlüsselwert", table: "t" };

describe("translateError", () => {
  it("finds the column in the detail, whatever the server's language", () => {
    const error = translateError({ ...violation, detail: "Schlüssel »(e_mail)=(a@x)« existiert bereits." });
    expect(error).toBeInstanceOf(UniqueViolation);
    expect(error.column).toBe("e_mail");
  });

  it.each([
    ['Key ("Odd ""Name", b)=(1, 2) already exists.', 'Odd "Name, b'],
    ["Key (a)=((x)=(y)) already exists.", "a"],
  ])("%s", (detail, column) => {
    expect(translateError({ ...violation, detail }).column).toBe(column);
  });

  it("finds the column in the name of the constraint where the server hides the detail", () => {
    expect(translateError({ ...violation, constraint: "t_e_mail_key" }).column).toBe("e_mail");
    expect(translateError({ ...violation, constraint: "t_e_mail_key1" }).column).toBe("e_mail");
    expect(translateError({ ...violation, constraint: "my_rule" }).column).toBeNull();
  });

  it("takes what is no answer of the server for a lost connection", () => {
    for (const cause of [Object.assign(new Error("read"), { code: "EPIPE" }), new Error("x"), "text"]) {
      const error = translateError(cause);
      expect(error).toBeInstanceOf(OperationalError);
      expect(error).toMatchObject({ sqlstate: "08006", cause });
    }
  });

  it("leaves its own errors as they are", () => {
    const own = new DatabaseError("x");
    expect(translateError(own)).toBe(own);
  });
});
