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
      reservation: undefined,
    });
    expect(readSubmission({ entrypoint: "ls", runtime_env: { config: {}, pip: null }, entrypoint_num_cpus: 0 }).id).toBeUndefined();
  });

  test("has resources of its entry point in Ray's units, and labels of the node", () => {
    const given = {
      entrypoint_num_cpus: 0.5,
      entrypoint_num_gpus: 2,
      entrypoint_memory: 1e9,
      entrypoint_resources: { license: 1, none: 0 },
      entrypoint_label_selector: { zone: "!in(a,b)" },
    };
    expect(readSubmission({ entrypoint: "ls", ...given }).reservation).toEqual({
      resources: { CPU: 0.5, GPU: 2, memory: 1e9, license: 1 },
      labels: { zone: "!in(a,b)" },
    });
    expect(readSubmission({ entrypoint: "ls", entrypoint_num_cpus: 0, entrypoint_resources: {} }).reservation).toBeUndefined();
  });

  test.each<[what: string, given: Record<string, unknown>, part: string]>([
    ["a negative CPU", { entrypoint: "a", entrypoint_num_cpus: -1 }, "entrypoint_num_cpus is a number from 0 to"],
    [
      "a CPU as text",
      { entrypoint: "a", entrypoint_num_cpus: "1" },
      'entrypoint_num_cpus is a number from 0 to 900719925474.0992: received "1"',
    ],
    ["more CPUs than can be counted", { entrypoint: "a", entrypoint_num_cpus: 1e300 }, "entrypoint_num_cpus is a number"],
    ["too little memory", { entrypoint: "a", entrypoint_memory: 1e-9 }, "entrypoint_memory is at least 0.0001"],
    ["half a GPU too many", { entrypoint: "a", entrypoint_num_gpus: 1.5 }, "entrypoint_num_gpus above 1 is a whole number: received 1.5"],
    ["CPUs as a resource", { entrypoint: "a", entrypoint_resources: { CPU: 1 } }, "CPU is an option of its own"],
    ["a resource with a comma", { entrypoint: "a", entrypoint_resources: { "a,b": 1 } }, "no comma"],
    ["labels alone", { entrypoint: "a", entrypoint_label_selector: { zone: "a" } }, "entrypoint_label_selector needs a resource"],
    [
      "a wrong condition",
      { entrypoint: "a", entrypoint_num_cpus: 1, entrypoint_label_selector: { zone: "in(" } },
      "has labels with conditions",
    ],
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
