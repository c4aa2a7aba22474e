import { expect, test } from "vitest";
import { methodNames } from "./proto-files.ts";

test("methods of services have the names that a class may give them", () => {
  const text = "service Shop {\n  rpc Buy(stream Order) returns (Receipt);\n  rpc  Sell (Order) returns (Receipt) {}\n}";
  const imported = "service Other { rpc Take(Coin) returns (Coin); }";
  expect(methodNames([{ service: "Shop", main: "shop.proto", files: { "shop.proto": text, "other.proto": imported } }])).toEqual([
    "Buy",
    "buy",
    "Sell",
    "sell",
  ]);
});
