import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FieldDescriptorProto,
  FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import { ValueError } from "../../../kit/value-error.js";
import { FieldDescriptorProto_Type } from "../protobuf.js";

type Kind = "message" | "enum";

/** The types that a file can name: its own and those of the files that it imports. */
class Symbols {
  readonly #kinds = new Map<string, Kind>();

  addFile(file: FileDescriptorProto): void {
    this.#add(file.package, file.messageType, file.enumType);
  }

  addImport(file: DescFile): void {
    for (const { typeName } of file.enums) this.#kinds.set(typeName, "enum");
    for (const message of file.messages) this.#addDescribed(message);
  }

  /** The whole name, by the rules of C++: the innermost place that has the name wins. */
  find(name: string, scope: string): [fullName: string, kind: Kind] | undefined {
    if (name.startsWith(".")) return this.#entry(name.slice(1));
    for (let place = scope; ; place = place.slice(0, Math.max(0, place.lastIndexOf(".")))) {
      const found = this.#entry(place === "" ? name : `${place}.${name}`);
      if (found !== undefined || place === "") return found;
    }
  }

  #entry(fullName: string): [string, Kind] | undefined {
    const kind = this.#kinds.get(fullName);
    return kind && [fullName, kind];
  }

  #add(scope: string, messages: readonly DescriptorProto[], enums: readonly EnumDescriptorProto[]): void {
    for (const { name } of enums) this.#kinds.set(within(scope, name), "enum");
    for (const { name, nestedType, enumType } of messages) {
      const fullName = within(scope, name);
      this.#kinds.set(fullName, "message");
      this.#add(fullName, nestedType, enumType);
    }
  }

  #addDescribed(message: DescMessage): void {
    this.#kinds.set(message.typeName, "message");
    for (const { typeName } of message.nestedEnums) this.#kinds.set(typeName, "enum");
    for (const nested of message.nestedMessages) this.#addDescribed(nested);
  }
}

/** Replaces the names of types in a file that was parsed by their whole names. */
export function resolveNames(file: FileDescriptorProto, imports: readonly DescFile[]): void {
  const symbols = new Symbols();
  symbols.addFile(file);
  for (const imported of imports) symbols.addImport(imported);

  const whole = (name: string, scope: string, user: string): [string, Kind] => {
    const found = symbols.find(name, scope);
    if (found === undefined) throw new ValueError(`${file.name}: ${user} uses the type ${name}, which is not defined`);
    return [`.${found[0]}`, found[1]];
  };
  const resolveField = (field: FieldDescriptorProto, scope: string): void => {
    const user = within(scope, field.name);
    if (field.extendee !== "") [field.extendee] = whole(field.extendee, scope, user);
    if (field.typeName === "") return;
    const [typeName, kind] = whole(field.typeName, scope, user);
    field.typeName = typeName;
    if (field.type === FieldDescriptorProto_Type.GROUP) return;
    field.type = kind === "enum" ? FieldDescriptorProto_Type.ENUM : FieldDescriptorProto_Type.MESSAGE;
  };
  const resolveMessage = (message: DescriptorProto, scope: string): void => {
    const own = within(scope, message.name);
    for (const field of [...message.field, ...message.extension]) resolveField(field, own);
    for (const nested of message.nestedType) resolveMessage(nested, own);
  };

  for (const message of file.messageType) resolveMessage(message, file.package);
  for (const field of file.extension) resolveField(field, file.package);
  for (const service of file.service) {
    for (const method of service.method) {
      const user = `${service.name}.${method.name}`;
      [method.inputType] = whole(method.inputType, within(file.package, service.name), user);
      [method.outputType] = whole(method.outputType, within(file.package, service.name), user);
    }
  }
}

function within(scope: string, name: string): string {
  return scope === "" ? name : `${scope}.${name}`;
}
