/** Answers in the form of Slurm 22.05's `squeue` become a provider's list. The systems test has the answers of a real controller. */
import { expect, test } from "vitest";
import { readJobs } from "./job-list.ts";
import { jobScript, sbatchOptions } from "./job-script.ts";

const REQUEST = {
  instanceId: "sky-1",
  type: "gpu",
  resources: { CPU: 1.5, GPU: 2, memory: 3_000_000, license: 1 },
  labels: { zone: "it's" },
  nodeConfig: { partition: "main", time: "1:00", sbatch_options: ["--exclusive"] },
  command: ["shoal", "start", "--block"],
  env: { COLOUR: "deep blue" },
  joinToken: "top-secret",
};

test("states of jobs become states of nodes, and other jobs are left out", () => {
  const answer = `1|RUNNING|sky-1|shoal:sky:worker|n1|None
2|PENDING|sky-2|shoal:sky:worker||Resources
3|FAILED|sky-3|shoal:sky:gpu|n2|NonZeroExitCode
4|COMPLETING|sky-4|shoal:sky:gpu|n2|None
5|CANCELLED|sky-5|shoal:sky:gpu|n2|None
6|RUNNING|theirs|shoal:other:gpu|n3|None
7|RUNNING|other|(null)|n3|None
8|PENDING|sky-8|shoal:sky:gpu||(a|b)
`;
  expect(readJobs(answer, "sky")).toEqual([
    { instanceId: "sky-1", providerId: "1", type: "worker", state: "running", address: "n1", reason: undefined },
    { instanceId: "sky-2", providerId: "2", type: "worker", state: "pending", address: undefined, reason: "Resources" },
    { instanceId: "sky-3", providerId: "3", type: "gpu", state: "failed", address: "n2", reason: "its job ended with FAILED" },
    { instanceId: "sky-4", providerId: "4", type: "gpu", state: "terminating", address: "n2", reason: undefined },
    { instanceId: "sky-8", providerId: "8", type: "gpu", state: "pending", address: undefined, reason: "(a|b)" },
  ]);
  expect(readJobs("", "sky")).toEqual([]);
  expect(() => readJobs("slurm_load_jobs error", "sky")).toThrow("squeue answered with an unknown line");
});

test("a job asks for the type's resources, and its script holds no token", () => {
  expect(sbatchOptions(REQUEST, "sky", "/shared")).toEqual([
    "--parsable",
    "--job-name=sky-1",
    "--comment=shoal:sky:gpu",
    "--nodes=1",
    "--ntasks=1",
    "--cpus-per-task=2",
    "--gres=gpu:2",
    "--mem=3M",
    "--no-requeue",
    "--output=/shared/%x.log",
    "--partition=main",
    "--time=1:00",
    "--exclusive",
  ]);
  const setup = { initializationCommands: ["one"], fileMounts: [], rsyncExclude: [], setupCommands: ["two"] };
  expect(jobScript(REQUEST, "/shared/a b", setup)).toBe(`#!/bin/bash -l
set -e
export COLOUR='deep blue'
one
two
SHOAL_TOKEN=$(cat '/shared/a b')
rm -f '/shared/a b'
export SHOAL_TOKEN
exec shoal start --block --num-cpus 1.5 --num-gpus 2 --resources '{"memory":3000000,"license":1}' --labels 'zone=it'\\''s'
`);
});
