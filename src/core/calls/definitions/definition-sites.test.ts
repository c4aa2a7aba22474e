/** The warning about a place in the source that makes remote functions without end. */
import { expect, test } from "vitest";
import { DefinitionSites } from "./definition-sites.ts";

type AnyFunction = (...args: never[]) => unknown;

function handler(number: number): AnyFunction {
  return () => number;
}

test("a place with a thousand definitions is named by file and line, once", () => {
  const warnings: string[] = [];
  const sites = new DefinitionSites((text) => warnings.push(text));
  for (let number = 0; number < 999; number += 1) sites.made(handler(number));
  expect(warnings).toEqual([]);
  for (let number = 999; number < 2500; number += 1) sites.made(handler(number));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/^WARNING: \S*definition-sites\.test\.ts:8(:\d+)? has made 1000 remote functions or classes/);
  expect(warnings[0]).toContain("define it once, outside of the function that uses it, and pass what differs as arguments");
});

test("definitions of different places are counted by themselves", () => {
  const warnings: string[] = [];
  const sites = new DefinitionSites((text) => warnings.push(text));
  for (let number = 0; number < 600; number += 1) {
    sites.made(() => number);
    sites.made((): number => number + 1);
  }
  expect(warnings).toEqual([]);
});
