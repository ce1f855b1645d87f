import { describe, expect, it } from "vitest";
import { pluralWords, singularWords, wordsOf } from "../../../src/orm/model/words.js";

describe("the last word of a name", () => {
  const pairs = [
    ["order_line", "order_lines"],
    ["category", "categories"],
    ["box", "boxes"],
    ["dish", "dishes"],
    ["day", "days"],
    ["person", "people"],
    ["child", "children"],
    ["status", "statuses"],
    ["movie", "movies"],
    ["analysis", "analyses"],
    ["index", "indices"],
  ] as const;

  it.each(pairs)("%s has the plural %s, and back", (one, many) => {
    expect(pluralWords(wordsOf(one)).join("_")).toBe(many);
    expect(singularWords(wordsOf(many)).join("_")).toBe(one);
    expect(pluralWords(wordsOf(many)).join("_")).toBe(many);
    expect(singularWords(wordsOf(one)).join("_")).toBe(one);
  });

  it.each(["news", "series", "sheep", "settings"])("%s is the same in singular and plural", (word) => {
    expect([singularWords([word]), pluralWords([word])]).toEqual([[word], [word]]);
  });
});
