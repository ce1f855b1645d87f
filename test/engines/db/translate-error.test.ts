import { describe, expect, it } from "vitest";
import { DatabaseError, OperationalError, UniqueViolation } from "../../../src/engines/db/errors.js";
import { translateError } from "../../../src/engines/db/translate-error.js";

const violation = { severity: "FEHLER", code: "23505", message: "doppelter Schlüsselwert", table: "t" };

describe("translateError", () => {
  it("The column of a violation is found in the detail, in any language of the server", () => {
    const error = translateError({ ...violation, detail: "Schlüssel »(e_mail)=(a@x)« existiert bereits." });
    expect(error).toBeInstanceOf(UniqueViolation);
    expect(error.column).toBe("e_mail");
  });

  it.each([
    ['Key ("Odd ""Name", b)=(1, 2) already exists.', 'Odd "Name, b'],
    ["Key (a)=((x)=(y)) already exists.", "a"],
  ])("The column of a violation is found in the detail %s", (detail, column) => {
    expect(translateError({ ...violation, detail }).column).toBe(column);
  });

  it("The column of a violation is found in the constraint's name if the server hides the detail", () => {
    expect(translateError({ ...violation, constraint: "t_e_mail_key" }).column).toBe("e_mail");
    expect(translateError({ ...violation, constraint: "t_e_mail_key1" }).column).toBe("e_mail");
    expect(translateError({ ...violation, constraint: "my_rule" }).column).toBeNull();
  });

  it.each([
    ['invalid input syntax for type integer: "secret"', 'invalid input syntax for type integer: "..."'],
    ['invalid input syntax for type json: ": "x": "y"', 'invalid input syntax for type json: "..."'],
    ['value "se" is cret" is out of range for type integer', 'value "..." is out of range for type integer'],
    ['value "multi\nline" is out of range', 'value "..." is out of range'],
    ["division by zero", "division by zero"],
    ['odd: "', 'odd: "'],
    ['value "', 'value "'],
  ])("The value is removed from the message %s", (message, shown) => {
    const error = translateError({ severity: "ERROR", code: "22P02", message });
    expect(error.message).toBe(shown);
    expect(error.detail).toBe(message === shown ? null : message);
  });

  it("A long value that looks like many quoted ones is removed in one pass", () => {
    // With an expression that begins again at each quote this does not end.
    const message = `value "${': "'.repeat(1_000_000)}" is out of range for type integer`;
    expect(translateError({ severity: "ERROR", code: "22003", message }).message).toBe(
      'value "..." is out of range for type integer',
    );
  });

  it("An error that is not from the server is a lost connection", () => {
    for (const cause of [Object.assign(new Error("read"), { code: "EPIPE" }), new Error("x"), "text"]) {
      const error = translateError(cause);
      expect(error).toBeInstanceOf(OperationalError);
      expect(error).toMatchObject({ sqlstate: "08006", cause });
    }
  });

  it("translateError() returns errors of its own classes unchanged", () => {
    const own = new DatabaseError("x");
    expect(translateError(own)).toBe(own);
  });
});
