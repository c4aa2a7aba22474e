/**
 * Descriptors of `.proto` files as protoc writes them, for gRPC's reflection.
 *
 * The descriptors of `@grpc/proto-loader` join files by package, leave out imports and names of fields as written, and name entries of maps
 * so that clients refuse them. So its parser, protobufjs, reads the texts once more. Decides which file a type belongs to; a file's imports
 * follow from the types that it uses. Extensions and options of the user's own are left out. Called by proxies that offer reflection. Pure,
 * but for the loading of the parser.
 */
import { createRequire } from "node:module";
import type { LoadedService } from "./proto-files.ts";

/** A file of a service, or one that it imports. */
export interface FileDescriptor {
  readonly name: string;
  /** A `FileDescriptorProto`. */
  readonly bytes: Uint8Array;
  /** Names of the files that it imports. */
  readonly imports: readonly string[];
  /** Whole names of its messages, enums, services and their methods. */
  readonly symbols: readonly string[];
}

/** The parts of protobufjs that are used here: a dependency of `@grpc/proto-loader`, and none of ours. */
interface Protobuf {
  readonly Root: new () => Root;
  readonly Type: new () => Type;
  readonly Enum: new () => Enum;
  readonly Service: new () => Service;
  readonly parse: {
    (text: string, root: Root, options: { keepCase: boolean }): { imports?: string[]; weakImports?: string[] };
    filename: string | null;
  };
  readonly common: { get(name: string): { nested: { google: { nested: { protobuf: { nested: object } } } } } | null };
}
interface Named {
  readonly name: string;
  /** Begins with a dot. */
  readonly fullName: string;
  readonly parent: Named | null;
  readonly filename?: string | null;
}
interface Namespace extends Named {
  readonly nestedArray: readonly Named[];
}
interface Root extends Namespace {
  addJSON(json: object): void;
  resolveAll(): Root;
  lookupType(name: string): { fromObject(value: object): object; encode(message: object): { finish(): Uint8Array } };
}
interface Type extends Namespace {
  readonly fieldsArray: readonly Field[];
  readonly oneofsArray: readonly OneOf[];
  readonly group?: boolean;
}
interface Field extends Named {
  readonly id: number;
  readonly type: string;
  readonly repeated: boolean;
  readonly required: boolean;
  /** Type of the keys, for maps alone. */
  readonly keyType?: string;
  readonly resolvedType: Type | Enum | null;
  readonly partOf: OneOf | null;
  readonly options?: Readonly<Record<string, string | number | boolean>>;
}
interface OneOf extends Named {
  readonly fieldsArray: readonly Field[];
}
interface Enum extends Named {
  readonly values: Readonly<Record<string, number>>;
  readonly options?: Readonly<Record<string, unknown>>;
}
interface Service extends Namespace {
  readonly methodsArray: readonly (Named & {
    readonly resolvedRequestType: Type;
    readonly resolvedResponseType: Type;
    readonly requestStream?: boolean;
    readonly responseStream?: boolean;
  })[];
}

/** Numbers of `FieldDescriptorProto.Type`. */
const SCALARS: Readonly<Record<string, number>> = {
  double: 1,
  float: 2,
  int64: 3,
  uint64: 4,
  int32: 5,
  fixed64: 6,
  fixed32: 7,
  bool: 8,
  string: 9,
  bytes: 12,
  uint32: 13,
  sfixed32: 15,
  sfixed64: 16,
  sint32: 17,
  sint64: 18,
};
const [GROUP, MESSAGE, ENUM] = [10, 11, 14];
const [OPTIONAL, REQUIRED, REPEATED] = [1, 2, 3];
const DESCRIPTOR_FILE = "google/protobuf/descriptor.proto";

/** Descriptors of all files of a service. @throws the parser's error for a file */
export function fileDescriptorsOf({ files }: LoadedService): FileDescriptor[] {
  const protobuf = loadParser();
  const root = new protobuf.Root();
  const ownFiles = new Map<string, string>();
  const addKnown = (name: string): void => {
    const known = protobuf.common.get(name);
    if (known === null || [...ownFiles.values()].includes(name)) return;
    for (const type of Object.keys(known.nested.google.nested.protobuf.nested)) ownFiles.set(`.google.protobuf.${type}`, name);
    root.addJSON(known.nested);
  };
  for (const [name, text] of Object.entries(files)) {
    protobuf.parse.filename = name;
    const { imports = [], weakImports = [] } = protobuf.parse(text, root, { keepCase: true });
    for (const imported of [...imports, ...weakImports]) if (!Object.hasOwn(files, imported)) addKnown(imported);
  }
  root.resolveAll();
  const fileOf = (object: Named): string => ownFiles.get(object.fullName) ?? object.filename ?? fileOf(object.parent as Named);
  const found = new Map<string, DescribedFile>();
  const visit = ({ nestedArray }: Namespace): void => {
    for (const object of nestedArray) {
      const isDescribed = object instanceof protobuf.Type || object instanceof protobuf.Enum || object instanceof protobuf.Service;
      if (!isDescribed) {
        if ("nestedArray" in object) visit(object as Namespace);
        continue;
      }
      const name = fileOf(object);
      const file = found.get(name) ?? new DescribedFile(protobuf, fileOf, { name, isProto3: speaksProto3(name, files[name]) });
      found.set(name, file);
      file.add(object);
    }
  };
  visit(root);
  const encode = encoder(protobuf);
  return [...found.values()].map((file) => ({ ...file.facts, bytes: encode(file.descriptor) }));
}

/** Editions count as proto2: both tell absent fields from empty ones. */
function speaksProto3(name: string, text: string | undefined): boolean {
  return text === undefined ? name !== DESCRIPTOR_FILE : /^\s*syntax\s*=\s*["']proto3["']/m.test(text);
}

/** The descriptor of one file while its types are added. */
class DescribedFile {
  readonly #protobuf: Protobuf;
  readonly #fileOf: (object: Named) => string;
  readonly #imports = new Set<string>();
  readonly #symbols: string[] = [];
  readonly #parts = { messageType: [] as object[], enumType: [] as object[], service: [] as object[] };
  readonly #name: string;
  readonly #isProto3: boolean;
  #package = "";

  constructor(protobuf: Protobuf, fileOf: (object: Named) => string, { name, isProto3 }: { name: string; isProto3: boolean }) {
    this.#protobuf = protobuf;
    this.#fileOf = fileOf;
    this.#name = name;
    this.#isProto3 = isProto3;
  }

  get facts(): Omit<FileDescriptor, "bytes"> {
    return { name: this.#name, imports: [...this.#imports], symbols: this.#symbols };
  }

  get descriptor(): object {
    const dependency = [...this.#imports];
    return { name: this.#name, package: this.#package, dependency, ...this.#parts, ...(this.#isProto3 && { syntax: "proto3" }) };
  }

  /** @param object directly below a package */
  add(object: Type | Enum | Service): void {
    this.#package = object.parent?.fullName.slice(1) ?? "";
    if (object instanceof this.#protobuf.Type) this.#parts.messageType.push(this.#message(object));
    else if (object instanceof this.#protobuf.Enum) this.#parts.enumType.push(this.#enum(object));
    else this.#parts.service.push(this.#service(object));
  }

  #message(type: Type): object {
    this.#symbols.push(type.fullName.slice(1));
    const { Type: TypeClass, Enum: EnumClass } = this.#protobuf;
    // Optional fields of proto3 are oneofs of their own, which come last.
    const oneofs = [...type.oneofsArray].sort((a, b) => Number(isOptionalField(a)) - Number(isOptionalField(b)));
    const maps = type.fieldsArray.filter(({ keyType }) => keyType !== undefined);
    return {
      name: type.name,
      field: type.fieldsArray.map((field) => this.#field(field, oneofs)),
      nestedType: [
        ...type.nestedArray.flatMap((nested) => (nested instanceof TypeClass ? [this.#message(nested)] : [])),
        ...maps.map((field) => this.#mapEntry(field)),
      ],
      enumType: type.nestedArray.flatMap((nested) => (nested instanceof EnumClass ? [this.#enum(nested)] : [])),
      oneofDecl: oneofs.map(({ name }) => ({ name })),
    };
  }

  #field(field: Field, oneofs: readonly OneOf[]): object {
    const { name, id, keyType, options = {}, partOf } = field;
    const named = { name, number: id };
    if (keyType !== undefined)
      return { ...named, label: REPEATED, type: MESSAGE, typeName: `${field.parent?.fullName}.${entryName(name)}` };
    return {
      ...named,
      label: field.repeated ? REPEATED : field.required && !this.#isProto3 ? REQUIRED : OPTIONAL,
      ...this.#kind(field.type, field.resolvedType),
      ...(partOf !== null && { oneofIndex: oneofs.indexOf(partOf) }),
      ...(options["proto3_optional"] === true && { proto3Optional: true }),
      ...(options["default"] !== undefined && !this.#isProto3 && { defaultValue: String(options["default"]) }),
      ...(typeof options["packed"] === "boolean" && { options: { packed: options["packed"] } }),
    };
  }

  #mapEntry({ name, keyType = "", type, resolvedType }: Field): object {
    return {
      name: entryName(name),
      field: [
        { name: "key", number: 1, label: OPTIONAL, ...this.#kind(keyType, null) },
        { name: "value", number: 2, label: OPTIONAL, ...this.#kind(type, resolvedType) },
      ],
      options: { mapEntry: true },
    };
  }

  #kind(type: string, resolved: Type | Enum | null): object {
    if (resolved === null) return { type: SCALARS[type] };
    const typeName = this.#use(resolved);
    return { type: resolved instanceof this.#protobuf.Enum ? ENUM : resolved.group === true ? GROUP : MESSAGE, typeName };
  }

  #use(type: Type | Enum): string {
    const file = this.#fileOf(type);
    if (file !== this.#name) this.#imports.add(file);
    return type.fullName;
  }

  #enum({ name, fullName, values, options = {} }: Enum): object {
    this.#symbols.push(fullName.slice(1));
    const value = Object.entries(values).map(([valueName, number]) => ({ name: valueName, number }));
    return { name, value, ...(options["allow_alias"] === true && { options: { allowAlias: true } }) };
  }

  #service({ name, fullName, methodsArray }: Service): object {
    this.#symbols.push(fullName.slice(1), ...methodsArray.map((method) => `${fullName.slice(1)}.${method.name}`));
    const method = methodsArray.map(({ name: methodName, resolvedRequestType, resolvedResponseType, requestStream, responseStream }) => ({
      name: methodName,
      inputType: this.#use(resolvedRequestType),
      outputType: this.#use(resolvedResponseType),
      clientStreaming: requestStream === true,
      serverStreaming: responseStream === true,
    }));
    return { name, method };
  }
}

function isOptionalField({ fieldsArray }: OneOf): boolean {
  return fieldsArray.length === 1 && fieldsArray[0]?.options?.["proto3_optional"] === true;
}

/** The name that protoc gives to the entry of a map, and that its readers insist on. */
function entryName(field: string): string {
  return `${field.replaceAll(/(?:^|_)+([a-z0-9]?)/gi, (_, letter: string) => letter.toUpperCase())}Entry`;
}

function encoder(protobuf: Protobuf): (descriptor: object) => Uint8Array {
  const root = new protobuf.Root();
  root.addJSON(protobuf.common.get(DESCRIPTOR_FILE)?.nested ?? {});
  const type = root.resolveAll().lookupType("google.protobuf.FileDescriptorProto");
  return (descriptor) => type.encode(type.fromObject(descriptor)).finish();
}

/** Parser of `@grpc/proto-loader`, which has told it of Google's files when it was loaded. */
function loadParser(): Protobuf {
  const require = createRequire(import.meta.url);
  const loader = require.resolve("@grpc/proto-loader");
  require(loader);
  return createRequire(loader)("protobufjs") as Protobuf;
}
