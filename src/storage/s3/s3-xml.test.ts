import { expect, test } from "vitest";
import { element, elements } from "./s3-xml.ts";

test("elements are found by their whole names, with attributes and without text", () => {
  const xml = '<List><Key a="1">x&amp;y</Key><Keys>no</Keys><Key/><Key >z</Key><Key></Key></List>';
  expect(elements(xml, "Key")).toEqual(["x&amp;y", "z", ""]);
  expect(element(xml, "Key")).toBe("x&y");
  expect(element(xml, "Keys")).toBe("no");
  expect(element(xml, "Missing")).toBeUndefined();
});

test.each([
  ["elements that nobody closes", "<Contents>"],
  ["tags without an end", "<Contents "],
  ["elements of a longer name", "<ContentsX>"],
])("an answer of 16 MB with %s takes less than a second of processor time", (_name, piece) => {
  const xml = piece.repeat((16 * 1024 * 1024) / piece.length);
  const before = process.cpuUsage();
  expect(elements(xml, "Contents")).toEqual([]);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
});
