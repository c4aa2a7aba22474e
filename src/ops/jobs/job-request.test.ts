/** A submission is checked as a whole before anything is kept, and no message shows the value of a variable. */
import { describe, expect, test } from "vitest";
import { isSubmissionId, readSubmission } from "./job-request.ts";

describe("a submission", () => {
  test("has Ray's names", () => {
    expect(
      readSubmission({ entrypoint: "ls", submission_id: "a.b-c_1", metadata: { a: "b" }, runtime_env: { env_vars: { X: "1" } } }),
    ).toEqual({
      id: "a.b-c_1",
      entrypoint: "ls",
      metadata: { a: "b" },
      envVars: { X: "1" },
      workingDirectory: undefined,
    });
    expect(readSubmission({ entrypoint: "ls", runtime_env: { config: {}, pip: null }, entrypoint_num_cpus: 0 }).id).toBeUndefined();
  });

  test.each<[what: string, given: Record<string, unknown>, part: string]>([
    ["no entry point", {}, "entrypoint is a command"],
    ["an empty one", { entrypoint: "  " }, "entrypoint is a command"],
    ["a list", { entrypoint: ["ls"] }, "entrypoint is a command"],
    ["a long one", { entrypoint: "x".repeat(70_000) }, "at most 65536 bytes: received"],
    ["NUL", { entrypoint: "a\0b" }, "has no NUL"],
    ["a number as metadata", { entrypoint: "a", metadata: { a: 1 } }, "the values of metadata are texts"],
    ["a list as metadata", { entrypoint: "a", metadata: [] }, "metadata is an object"],
    ["a variable with =", { entrypoint: "a", runtime_env: { env_vars: { "a=b": "c" } } }, "names of variables without ="],
    ["long variables", { entrypoint: "a", runtime_env: { env_vars: { a: "c".repeat(200_000) } } }, "at most 131072 characters"],
    ["another key of the environment", { entrypoint: "a", runtime_env: { conda: "x" } }, "takes env_vars and working_dir"],
  ])("with %s is refused", (_what, given, part) => {
    expect(() => readSubmission(given)).toThrow(part);
  });

  test("shows no value of a variable in its refusal", () => {
    const refusal = (env_vars: object): string => {
      try {
        readSubmission({ entrypoint: "a", runtime_env: { env_vars } });
        return "";
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(refusal({ TOKEN: ["hidden7"] })).toContain("TOKEN");
    for (const env_vars of [{ TOKEN: ["hidden7"] }, { A: "hidden7\0" }, { "A=": "hidden7" }])
      expect(refusal(env_vars)).not.toContain("hidden7");
  });
});

describe("a submission id", () => {
  test.each(["a", "A1", "shoal_4LamXRuQpYdSMg7J", "a.b", "1", `a${"b".repeat(127)}`])("may be %s", (id) =>
    expect(isSubmissionId(id)).toBe(true),
  );

  test.each(["", "a/b", "..", "a..b", ".a", "-a", "--help", "a b", "a\n", "a\0", "ä", "a%2f", `a${"b".repeat(128)}`])(
    "may not be %j",
    (id) => expect(isSubmissionId(id)).toBe(false),
  );
});
