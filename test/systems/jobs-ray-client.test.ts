/** Jobs submitted by Ray's own Python client and by the command `ray job`, from the package upload to the errors. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { useShoal } from "../integration/shoal-program.ts";
import { rayPrograms } from "./ray-environment.ts";

const run = promisify(execFile);
const { folder, run: shoal, startHead } = useShoal({}, { endsAfterAll: true });
const work = join(folder, "work");

let programs: string;
let url: string;
let token: string;

beforeAll(async () => {
  programs = rayPrograms();
  mkdirSync(work);
  writeFileSync(join(work, "words.txt"), "words of the package\n");
  url = (await startHead("--dashboard-port", "0", "--resources", '{"telescope": 1}')).dashboardUrl;
  token = (await shoal("get-auth-token")).stdout.trim();
}, 600_000);

test("Ray's client submits a package, tails, waits for resources, stops, deletes and lists", { timeout: 180_000 }, async () => {
  const script = join(REPOSITORY, "test", "systems", "python", "jobs_client.py");
  const { stdout } = await run(join(programs, "python"), [script, url, token, work]);
  const { failures, ...seen } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Record<string, unknown> & { failures: string[] };
  expect(seen).toEqual({
    first: "from-ray",
    tail: "words of the package\ngood day\n",
    status: "FAILED",
    info: {
      type: "SUBMISSION",
      message: "Job entrypoint command failed with exit code 3. Its last lines:\nwords of the package\ngood day",
      metadata: { team: "search" },
      runtime_env: ["env_vars", "working_dir"],
      variables: { GREETING: "***" },
      exit_code: 3,
      entrypoint: "cat words.txt; echo $GREETING; exit 3",
      times: true,
    },
    logs: "words of the package\ngood day\n",
    waited: ["PENDING", "Job has not started yet: it waits for its resources. `shoal status` says what becomes of them."],
    after: "SUCCEEDED",
    stopped: [true, "STOPPED", false],
    deleted: true,
    listed: true,
  });
  const [taken, path, negative, conda, unknown, undeleted] = failures;
  expect(taken).toMatch(/status code 409.*a job with the submission id from-ray exists/s);
  expect(path).toMatch(/status code 400.*submission_id has letters, digits/s);
  expect(negative).toMatch(/status code 400.*entrypoint_num_cpus is a number from 0/s);
  expect(conda).toMatch(/status code 400.*takes env_vars and working_dir/s);
  expect([unknown, undeleted]).toEqual([
    expect.stringMatching(/404.*nobody does not exist/s),
    expect.stringMatching(/404.*nobody does not exist/s),
  ]);
});

test("`ray job` submits with its options, follows, and exits as the job does", { timeout: 180_000 }, async () => {
  const place = ["--address", url, "--headers", JSON.stringify({ Authorization: `Bearer ${token}` })];
  const ray = async (...words: string[]): Promise<{ code: number; text: string }> =>
    await run(join(programs, "ray"), ["job", ...words]).then(
      ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, text: stdout + stderr }),
    );
  const options = ["--working-dir", work, "--entrypoint-num-cpus", "1", "--submission-id", "by-command", "--metadata-json", '{"a": "b"}'];
  const submitted = await ray("submit", ...place, ...options, "--", "cat", "words.txt");
  expect(submitted).toEqual({ code: 0, text: expect.stringMatching(/words of the package[\s\S]*Job 'by-command' succeeded/) });
  expect((await ray("submit", ...place, "--", "false")).code).not.toBe(0);
  expect((await ray("logs", ...place, "by-command")).text).toContain("words of the package");
  const { text } = await ray("submit", ...place, "--no-wait", "--submission-id", "long", "--", "sleep", "300");
  expect(text).toContain("Job 'long' submitted successfully");
  expect((await ray("stop", ...place, "long")).text).toContain("Job 'long' was stopped");
  // Each command of Ray takes some seconds to start, so the other ones are tried through the client alone.
});
