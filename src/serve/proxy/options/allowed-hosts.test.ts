import { expect, test } from "vitest";
import { AllowedHosts, allowsOrigin } from "./allowed-hosts.ts";

test.each([
  [
    "127.0.0.1",
    undefined,
    ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "app.localhost", "10.0.0.1", "web"],
    ["evil.example", "127.0.0.1.evil.example:8000"],
  ],
  ["::1", undefined, ["localhost"], ["evil.example"]],
  ["localhost", undefined, ["localhost"], ["evil.example"]],
  ["0.0.0.0", undefined, ["any.example", "localhost"], []],
  [
    "127.0.0.1",
    ["shop.example", ".api.example"],
    ["SHOP.example:80", "v1.api.example", "localhost"],
    ["api.example", "myshop.example", "evilapi.example"],
  ],
  ["0.0.0.0", ["shop.example"], ["shop.example"], ["evil.example"]],
  ["127.0.0.1", ["*"], ["evil.example"], []],
])("a proxy at %s with allowedHosts %j", (listening, names, allowed, refused) => {
  const hosts = new AllowedHosts(listening, names);
  for (const host of [...allowed, ...allowed]) expect([host, hosts.allows(host)]).toEqual([host, true]);
  for (const host of refused) expect([host, hosts.allows(host)]).toEqual([host, false]);
});

test.each([
  [undefined, "https://evil.example", true],
  [["https://app.example"], "https://app.example", true],
  [["https://app.example"], "http://app.example", false],
  [["https://app.example"], undefined, true],
  [["https://app.example"], "http://shop:8000", true],
  [["https://app.example"], "null", false],
  [[], "https://evil.example", false],
  [["*"], "https://evil.example", true],
])("allowedOrigins %j and a page of %s", (allowed, origin, isAllowed) => {
  expect(allowsOrigin(allowed, origin, "shop:8000")).toBe(isAllowed);
});
