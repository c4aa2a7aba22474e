import { afterEach, expect, test } from "vitest";
import { childEnvironment, takeSecrets } from "./child-environment.ts";

afterEach(() => {
  delete process.env["SHOAL_TOKEN"];
});

test("what is started has this process's variables and others, and no secret, whoever names it", () => {
  process.env["SHOAL_TOKEN"] = "SHOAL1-secret";
  const environment = childEnvironment({ MORE: "yes", SHOAL_TOKEN: "SHOAL1-other" });
  expect(environment).toMatchObject({ PATH: process.env["PATH"], MORE: "yes" });
  expect(JSON.stringify(environment)).not.toContain("SHOAL1-");
  // A program keeps its own environment.
  expect(process.env["SHOAL_TOKEN"]).toBe("SHOAL1-secret");
});

test("a command takes its secrets out of its environment once", () => {
  process.env["SHOAL_TOKEN"] = "SHOAL1-secret";
  expect(takeSecrets()["SHOAL_TOKEN"]).toBe("SHOAL1-secret");
  expect(process.env["SHOAL_TOKEN"]).toBeUndefined();
  expect(takeSecrets()).toEqual({ ...process.env });
});
