/** Acknowledged jobs run exactly once, although their head is killed again and again while they are submitted. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { JobClient } from "shoal/jobs";
import { natsServerBinary } from "../../scripts/nats-server.mjs";
import { WITHOUT_NATS } from "../control-plane/nats-servers.ts";
import { until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const { folder, run, startHead, pidOf } = useShoal(WITHOUT_NATS === undefined ? { SHOAL_NATS_BIN: natsServerBinary() } : {});
const JOBS = 40;

test.skipIf(WITHOUT_NATS !== undefined)(
  "a job that was acknowledged runs exactly once, although its head dies twice",
  { timeout: 180_000 },
  async () => {
    const { dashboardUrl: address } = await startHead("--dashboard-port", "0");
    const token = (await run("get-auth-token")).stdout.trim();
    const client = new JobClient({ address, token });
    const file = join(folder, "ran");
    const acknowledged: string[] = [];
    const submitting = Array.from({ length: JOBS }, async (_, at) => {
      await new Promise((resolve) => setTimeout(resolve, at * 100));
      // A head that is away for long is a refusal, and its job may run or not.
      const id = await client
        .submitJob({ submissionId: `job${at}`, entrypoint: `echo job${at} >> ${file}; sleep 0.2` })
        .catch(() => undefined);
      if (id !== undefined) acknowledged.push(id);
    });
    for (const wanted of [5, 15]) {
      await until(() => acknowledged.length >= wanted, `${wanted} acknowledged jobs`);
      const head = pidOf("the head");
      process.kill(head, "SIGKILL");
      await until(() => ![0, head].includes(pidOf("the head")), "another head");
    }
    await Promise.all(submitting);
    expect(acknowledged.length).toBeGreaterThan(JOBS / 2);
    await until(
      async () => (await client.listJobs().catch(() => [])).filter(({ status }) => status === "SUCCEEDED").length >= acknowledged.length,
      "all jobs to end",
    );
    const ran = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(ran.length).toBe(new Set(ran).size);
    expect(acknowledged.filter((id) => !ran.includes(id))).toEqual([]);
  },
);
