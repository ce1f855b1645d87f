import { show } from "../../kit/options.js";
import { isStorable } from "../../kit/storable.js";
import { ValueError } from "../../kit/value-error.js";

const longestName = 255;

export function isName(name: unknown): name is string {
  return isStorable(name) && name !== "" && name.length <= longestName;
}

export function checkName(what: string, name: unknown): asserts name is string {
  if (!isName(name)) {
    throw new ValueError(`${what} must be a string of 1 to ${longestName} characters, not ${show(name)}`);
  }
}

export function categoryOfClass(type: { readonly name: string; readonly category?: string }): string {
  const category = type.category ?? type.name.charAt(0).toLowerCase() + type.name.slice(1);
  return checkedCategory(category);
}

export function checkedCategory(category: string): string {
  checkName("a category", category);
  if (category.includes("-"))
    throw new ValueError("a category cannot contain a hyphen: it ends the category in a stream's name");
  return category;
}

/** The name of the stream of an aggregate. */
export function streamOf(category: string, id: string): string {
  return `${category}-${id}`;
}
