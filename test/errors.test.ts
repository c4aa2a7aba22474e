/** Holds docs/errors.md: every error of the family, and every reason of a failed reconstruction, is explained there. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as errors from "../src/runtime/base/errors.ts";
import { RECONSTRUCTION_REASON } from "../src/core/calls/failures/recovery.ts";

const text = readFileSync(new URL("../docs/errors.md", import.meta.url), "utf8");

const classes = Object.values(errors).filter(
  (value): value is typeof errors.ShoalError => typeof value === "function" && "code" in value && typeof value.code === "string",
);

test("docs/errors.md names every class of the family with its code", () => {
  expect(classes.length).toBeGreaterThan(20);
  expect(
    classes.filter(({ name, code }) => !text.includes(`\`${name}\``) || !text.includes(`\`${code}\``)).map(({ name }) => name),
  ).toEqual([]);
});

test("docs/errors.md explains every reason for which an object cannot be made again", () => {
  // The reason's text goes on with a number after the colon.
  const missing = Object.values(RECONSTRUCTION_REASON).filter((reason) => !text.includes(`| ${reason.split(":")[0]} |`));
  expect(missing).toEqual([]);
});
