/** Reflection: which files it answers with, and whether their descriptors are those that protoc would write. */
import { beforeAll, expect, test } from "vitest";
import type { LoadedService } from "./proto-files.ts";
import { Reflection } from "./reflection.ts";
import { definitionOf } from "./service-definition.ts";

const SHOP: LoadedService = {
  service: "shop.v1.Shop",
  main: "shop/v1/shop.proto",
  files: {
    "shop/v1/shop.proto": `syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "money/money.proto";
message Order {
  enum State { OPEN = 0; PAID = 1; }
  message Line { string item_name = 1; }
  optional string note = 1;
  oneof payment { money.Amount cash = 2; string card = 3; }
  repeated Line lines = 4;
  State state = 5;
  map<string, money.Amount> by_item = 6;
  google.protobuf.Timestamp made_at = 7;
}
service Shop { rpc Buy(stream Order) returns (money.Amount); }
`,
    "money/money.proto": `package money;
message Amount { required int64 cents = 1; optional string currency = 2 [default = "EUR"]; }
`,
  },
};
/** Another service, whose file has the name of one above and another text. */
const OTHER: LoadedService = {
  service: "other.Till",
  main: "money/money.proto",
  files: {
    "money/money.proto": `syntax = "proto3"; package other; message Coin {} service Till { rpc Take(Coin) returns (Coin); }`,
  },
};

let reflection: Reflection;
let read: (bytes: Uint8Array) => any;

beforeAll(async () => {
  const text = `syntax = "proto3"; import "google/protobuf/descriptor.proto";
service Reader { rpc Read(google.protobuf.FileDescriptorProto) returns (google.protobuf.FileDescriptorProto); }`;
  const { Read } = await definitionOf({ service: "Reader", main: "reader.proto", files: { "reader.proto": text } });
  read = (bytes) => Read?.requestDeserialize(Buffer.from(bytes));
  reflection = new Reflection([SHOP, OTHER]);
});

function filesOf(request: object): any[] {
  const { fileDescriptorResponse } = reflection.answer(request) as { fileDescriptorResponse?: { fileDescriptorProto: Uint8Array[] } };
  return (fileDescriptorResponse?.fileDescriptorProto ?? []).map((bytes) => read(bytes));
}

test("a symbol's file comes with all that it imports", () => {
  for (const symbol of ["shop.v1.Shop", "shop.v1.Shop.Buy", "shop.v1.Order.Line", "shop.v1.Order.State"]) {
    const files = filesOf({ messageRequest: "fileContainingSymbol", fileContainingSymbol: symbol });
    expect(files.map(({ name }) => name)).toEqual(["shop/v1/shop.proto", "money/money.proto", "google/protobuf/timestamp.proto"]);
    expect(files[0].dependency.toSorted()).toEqual(["google/protobuf/timestamp.proto", "money/money.proto"]);
  }
  expect(filesOf({ messageRequest: "fileByFilename", fileByFilename: "google/protobuf/timestamp.proto" })).toHaveLength(1);
});

test("descriptors have names as written, optional fields, maps, packages and versions", () => {
  const [shop, money] = filesOf({ messageRequest: "fileContainingSymbol", fileContainingSymbol: "shop.v1.Order" });
  expect([shop.syntax, shop.package, money.syntax, money.package]).toEqual(["proto3", "shop.v1", "", "money"]);
  const [order] = shop.messageType;
  const fields = order.field.map(({ name, number, label, type, typeName, proto3Optional }: any) => [
    name,
    number,
    label.slice(6),
    type.slice(5),
    typeName,
    proto3Optional,
  ]);
  expect(fields).toEqual([
    ["note", 1, "OPTIONAL", "STRING", "", true],
    ["cash", 2, "OPTIONAL", "MESSAGE", ".money.Amount", false],
    ["card", 3, "OPTIONAL", "STRING", "", false],
    ["lines", 4, "REPEATED", "MESSAGE", ".shop.v1.Order.Line", false],
    ["state", 5, "OPTIONAL", "ENUM", ".shop.v1.Order.State", false],
    ["by_item", 6, "REPEATED", "MESSAGE", ".shop.v1.Order.ByItemEntry", false],
    ["made_at", 7, "OPTIONAL", "MESSAGE", ".google.protobuf.Timestamp", false],
  ]);
  // The oneof of an optional field comes after the real ones.
  expect(order.oneofDecl.map(({ name }: { name: string }) => name)).toEqual(["payment", "_note"]);
  expect(order.field[0].oneofIndex).toBe(1);
  expect(order.nestedType).toMatchObject([
    { name: "Line" },
    { name: "ByItemEntry", options: { mapEntry: true }, field: [{ name: "key" }, { name: "value", typeName: ".money.Amount" }] },
  ]);
  expect(order.enumType).toMatchObject([{ name: "State", value: [{ name: "OPEN" }, { name: "PAID", number: 1 }] }]);
  expect(shop.service[0].method).toMatchObject([
    { name: "Buy", inputType: ".shop.v1.Order", outputType: ".money.Amount", clientStreaming: true, serverStreaming: false },
  ]);
  expect(money.messageType[0].field).toMatchObject([{ label: "LABEL_REQUIRED" }, { defaultValue: "EUR" }]);
});

test("services are listed; two files of one name are told apart", () => {
  expect(reflection.answer({ messageRequest: "listServices", listServices: "" } as object)).toMatchObject({
    listServicesResponse: { service: [{ name: "shop.v1.Shop" }, { name: "other.Till" }] },
  });
  expect(filesOf({ messageRequest: "fileContainingSymbol", fileContainingSymbol: "other.Coin" })).toMatchObject([
    { name: "other.Till/money/money.proto", package: "other" },
  ]);
});

test("what is not there is told so", () => {
  const codeOf = (request: object): unknown => (reflection.answer(request) as any).errorResponse?.errorCode;
  expect(codeOf({ messageRequest: "fileContainingSymbol", fileContainingSymbol: "shop.v1.None" })).toBe(5);
  expect(codeOf({ messageRequest: "fileByFilename", fileByFilename: "none.proto" })).toBe(5);
  expect(codeOf({ messageRequest: "fileContainingExtension", fileContainingExtension: { containingType: "shop.v1.Order" } })).toBe(5);
  expect(codeOf({ messageRequest: "allExtensionNumbersOfType", allExtensionNumbersOfType: "shop.v1.None" })).toBe(5);
  expect(codeOf({})).toBe(3);
  const known = { messageRequest: "allExtensionNumbersOfType", allExtensionNumbersOfType: "shop.v1.Order" };
  expect(reflection.answer(known)).toMatchObject({
    allExtensionNumbersResponse: { baseTypeName: "shop.v1.Order", extensionNumber: [] },
  });
});
