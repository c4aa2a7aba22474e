/** The environment that a driver in a cluster tells, of which users see only their own part. */
import { expect, test } from "vitest";
import type { JobId, NodeId } from "../../runtime/base/ids.ts";
import { writtenRuntimeEnv } from "../../runtime/environment/runtime-env.ts";
import { jobEnvironment } from "./job-environment.ts";

const ids = { jobId: "job" as JobId, namespace: "ns", nodeId: "node" as NodeId };

test("a job says whose it is and where its driver runs", () => {
  const spec = jobEnvironment({ envVars: { A: "1" }, workingDir: "." }, ids);
  expect(spec.job).toMatchObject({ jobId: "job", namespace: "ns", node: "node", directory: process.cwd() });
  expect(spec.workingDirAt).toMatchObject({ node: "node" });
  expect(writtenRuntimeEnv(spec)).toEqual({ envVars: { A: "1" }, workingDir: process.cwd() });
  expect(writtenRuntimeEnv(jobEnvironment(undefined, ids))).toEqual({});
});
