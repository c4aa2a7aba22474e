/** The address holds all that is chosen on a page. */
import { expect, test } from "vitest";
import { addressOf, detailsPlaceOf, firstRowsOf, logPlaceOf, nextSort, placeOf } from "./place.ts";

const placeAt = (address: string): ReturnType<typeof placeOf> => placeOf(new URL(address, "http://localhost"));

test("a place is read back from its address", () => {
  const place = { page: "tasks", by: "name", filter: "a&b=c #?", state: "FAILED", pageToken: "x+/=", node: "0a", sort: "-name", id: "7" };
  expect(placeAt(addressOf(place))).toEqual(place);
  expect(addressOf(logPlaceOf("actor_id", "12"))).toBe("/ui/logs?by=actor_id&filter=12");
  expect(addressOf(firstRowsOf("actors"))).toBe("/ui/actors");
  expect(addressOf(detailsPlaceOf("tasks", "12"))).toBe("/ui/tasks?id=12");
  expect(addressOf({ ...firstRowsOf("tasks"), state: "FAILED" })).toBe("/ui/tasks?state=FAILED");
});

test("the root is the first page, and unknown parameters change nothing", () => {
  expect(placeAt("/")).toEqual(firstRowsOf("overview"));
  expect(placeAt("/ui/workers?other=1#code=x")).toEqual(firstRowsOf("workers"));
});

test("clicks on a column sort by it, the other way round, and not any more", () => {
  const first = nextSort("", "name");
  expect([first, nextSort(first, "name"), nextSort("-name", "name"), nextSort("-name", "state")]).toEqual(["name", "-name", "", "state"]);
});
