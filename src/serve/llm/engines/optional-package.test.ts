import { expect, test } from "vitest";
import { LLMEngineError } from "../llm-errors.ts";
import { optionalPackage } from "./optional-package.ts";

test("a package that is not there is named with the command that installs the versions that are known to work", async () => {
  const cause = new Error("Cannot find package");
  const error = await optionalPackage("a-model", ">=3 <4", () => Promise.reject(cause)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(LLMEngineError);
  expect(error).toMatchObject({ hint: 'Install it: npm install "a-model@>=3 <4"', cause });
  expect((error as Error).message).toContain("the package a-model");
  expect(await optionalPackage("a-model", ">=3 <4", async () => "loaded")).toBe("loaded");
});
