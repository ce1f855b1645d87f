import { readFileSync } from "node:fs";
import { App, Blueprint, Request, Response } from "stoa";
import ts from "typescript";
import { expect, it } from "vitest";
import { snakeCase } from "../../src/kit/names.js";
import { WebSocket } from "../../src/websocket/socket.js";

/** The names that JavaScript itself gives. */
const protocols = new Set(["toJSON"]);

it.each([
  ["http/request.ts", "Request", Request],
  ["http/response.ts", "BaseResponse", Response],
  ["websocket/channel.ts", "BaseChannel", WebSocket],
  ["app/app.ts", "BaseApp", App],
  ["routing/router.ts", "Router", App],
  ["routing/blueprint.ts", "BaseBlueprint", Blueprint],
])("Each public member in %s exists in snake case too: %s", (file, name, type) => {
  const members = publicMembers(`src/${file}`, name);
  expect(members.length).toBeGreaterThan(0);
  const holderOf = (member: string): object => (member in type ? type : type.prototype);
  const missing = members.filter((member) => !(snakeCase(member) in holderOf(member)));
  expect(missing).toEqual([]);
});

/** All members of a class but those that are private or marked as internal. */
function publicMembers(file: string, name: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const found = source.statements.find((each): each is ts.ClassDeclaration => {
    return ts.isClassDeclaration(each) && each.name?.text === name;
  });
  const members = (found?.members ?? []).flatMap((member) => {
    return member.name !== undefined && ts.isIdentifier(member.name) ? [{ member, name: member.name.text }] : [];
  });
  const hidden = members.filter(({ member }) => {
    const isInternal = ts.getJSDocTags(member).some(({ tagName }) => tagName.text === "internal");
    return isInternal || ts.getCombinedModifierFlags(member) & ts.ModifierFlags.NonPublicAccessibilityModifier;
  });
  const left = new Set(members.map((each) => each.name));
  for (const each of hidden) left.delete(each.name);
  return [...left].filter((each) => snakeCase(each) !== each && !protocols.has(each));
}
