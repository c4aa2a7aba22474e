import { expect, test } from "vitest";
import { resolveHttpOptions } from "./options/http-options.ts";
import { RouteTable, underRoot } from "./route-table.ts";

function found(table: RouteTable, target: string): string | undefined {
  const match = table.match(target);
  return match === undefined ? undefined : `${match.entry.app} ${match.rest}`;
}

test("the longest prefix that ends at a slash wins, and goes off the path", () => {
  const table = new RouteTable();
  table.update([
    { prefix: "/a", app: "a", ingress: "I", keepsPrefix: false },
    { prefix: "/a/b", app: "ab", ingress: "I", keepsPrefix: false },
    { prefix: "/c", app: "c", ingress: "I", keepsPrefix: false },
  ]);
  expect(found(table, "/a")).toBe("a /");
  expect(found(table, "/a?x=/a/b")).toBe("a /?x=/a/b");
  expect(found(table, "/a/")).toBe("a /");
  expect(found(table, "/a/b/c?d")).toBe("ab /c?d");
  expect(found(table, "/a/bc")).toBe("a /bc");
  expect(found(table, "/ab")).toBeUndefined();
  expect(found(table, "/")).toBeUndefined();
  table.update([{ prefix: "/", app: "root", ingress: "I", keepsPrefix: false }]);
  expect(found(table, "/a/b?x")).toBe("root /a/b?x");
  table.update([]);
  expect(found(table, "/")).toBeUndefined();
});

test("a root comes before all routes, and is a path", () => {
  expect(["/", "/a"].map((route) => underRoot("/models", route))).toEqual(["/models", "/models/a"]);
  expect(["/", "/a"].map((route) => underRoot("", route))).toEqual(["/", "/a"]);
  expect(resolveHttpOptions({ rootPath: "/models" }).rootPath).toBe("/models");
  for (const rootPath of ["models", "/models/", "/a?b", "/"])
    expect(() => resolveHttpOptions({ rootPath })).toThrow('a path such as "/models" without a slash at its end is needed');
});
