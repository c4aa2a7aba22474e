/** The address holds all that is chosen on a page. */
import { expect, test } from "vitest";
import { addressOf, firstRowsOf, placeOf } from "./place.ts";

const placeAt = (address: string): ReturnType<typeof placeOf> => placeOf(new URL(address, "http://localhost"));

test("a place is read back from its address", () => {
  const place = { page: "tasks", by: "name", filter: "a&b=c #?", state: "FAILED", pageToken: "x+/=" };
  expect(placeAt(addressOf(place))).toEqual(place);
  expect(addressOf(firstRowsOf("actors"))).toBe("/ui/actors");
  expect(addressOf({ ...firstRowsOf("tasks"), state: "FAILED" })).toBe("/ui/tasks?state=FAILED");
});

test("the root is the first page, and unknown parameters change nothing", () => {
  expect(placeAt("/")).toEqual(firstRowsOf("nodes"));
  expect(placeAt("/ui/workers?other=1#code=x")).toEqual(firstRowsOf("workers"));
});
