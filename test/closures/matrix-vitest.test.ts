/** The closure matrix inside Vitest itself: closures written in test files, as its transform leaves them. */
import { expect, test } from "vitest";
import { outcomes } from "./matrix/cases.ts";
import "./matrix/values.ts";
import "./matrix/functions.ts";
import "./matrix/classes.ts";
import "./matrix/class-members.ts";
import "./matrix/imports.ts";
import "./matrix/refusals.ts";
import "./matrix/nesting.ts";
import { run } from "./matrix/run.ts";

const offset = 41;

export class InThisFile {
  #value = 1;
  read(): number {
    return this.#value + offset;
  }
}

test("a class that the test file exports goes by value", async () => {
  const instance = new InThisFile();
  expect(await run(() => [instance.read(), new InThisFile().read()])).toEqual([42, 42]);
});

test("every case works in Vitest", { timeout: 120_000 }, async () => {
  const list = await outcomes();
  expect(list.filter(({ isRight }) => !isRight).map(({ name, received }) => `${name}: ${received}`)).toEqual([]);
  expect(list.length).toBeGreaterThan(100);
});
