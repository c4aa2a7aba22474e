/**
 * Tests submitted jobs on a real cluster, from the request to the exit code: the client, the commands, and Ray's REST. They are stopped,
 * have wrong ids, and lose the dashboard and the node.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { JobClient } from "shoal/jobs";
import { isAlive, until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const { folder, run, startHead, pidOf, program } = useShoal({}, { endsAfterAll: true });

let origin: string;
let token: string;
let viewToken: string;
let logs: string;
let client: JobClient;

const ask = (method: string, path: string, body?: unknown, by = token): Promise<Response> =>
  fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${by}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });

async function ended(id: string): Promise<Awaited<ReturnType<JobClient["getJobInfo"]>>> {
  await until(async () => !["PENDING", "RUNNING"].includes(await client.getJobStatus(id)), `the job ${id} to end`);
  return await client.getJobInfo(id);
}

/** Submits a job that writes its process id into a file, and waits for that. */
async function running(script: string, id: string): Promise<number[]> {
  const file = join(folder, `${id}.pid`);
  await client.submitJob({ submissionId: id, entrypoint: script.replaceAll("PIDS", file) });
  const pids = (): number[] => {
    try {
      return readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number);
    } catch {
      return [];
    }
  };
  const wanted = script.split("PIDS").length - 1;
  await until(() => pids().length === wanted, `${wanted} processes of ${id}`);
  return pids();
}

beforeAll(async () => {
  const head = await startHead("--dashboard-port", "0");
  origin = head.dashboardUrl;
  ({ logs } = head);
  token = (await run("get-auth-token")).stdout.trim();
  viewToken = (await run("token", "create", "--for", "http", "--role", "view")).stdout.trim();
  client = new JobClient({ address: origin, token });
}, 60_000);

describe("a job", () => {
  test("runs its command, and its output and exit code are known afterwards", async () => {
    const id = await client.submitJob({ entrypoint: "echo one; echo two >&2; exit 3", metadata: { team: "search" } });
    expect(id).toMatch(/^shoal_[A-Za-z0-9]{16}$/);
    const job = await ended(id);
    expect(job).toMatchObject({ status: "FAILED", driverExitCode: 3, metadata: { team: "search" }, type: "SUBMISSION" });
    expect(job.message).toBe("Job entrypoint command failed with exit code 3. Its last lines:\none\ntwo");
    expect(await client.getJobLogs(id)).toBe("one\ntwo\n");
    expect((await client.listJobs()).map(({ submissionId }) => submissionId)).toContain(id);
    expect(readdirSync(logs)).toContain(`job-driver-${id}.log`);
  });

  test("is followed until its end, byte for byte", async () => {
    const id = await client.submitJob({
      entrypoint: "printf 'h\\303'; sleep 0.3; printf '\\251\\377'; sleep 0.2; echo; exec >&- 2>&-; sleep 0.2",
    });
    let text = "";
    for await (const piece of client.tailJobLogs(id)) text += piece;
    expect(text).toBe("h\u00e9\ufffd\n");
    expect((await client.getJobInfo(id)).status).toBe("SUCCEEDED");
  });

  test("may open its outputs by name, as many programs do for a log", async () => {
    const id = await client.submitJob({
      entrypoint: "echo one > /dev/stdout; echo two >> /dev/stderr; cat /dev/stdin; echo three | tee /dev/stdout",
    });
    expect((await ended(id)).status).toBe("SUCCEEDED");
    expect(await client.getJobLogs(id)).toBe("one\ntwo\nthree\nthree\n");
  });

  test("is a program of the cluster, with its variables and without secrets", async () => {
    const file = join(folder, "program.mjs");
    const shoal = JSON.stringify(new URL("../../dist/index.js", import.meta.url).href);
    writeFileSync(
      file,
      `import { init, remote, shutdown } from ${shoal}; await init();
       const f = remote(function f(x) { return process.env.TEAM + x; });
       console.log(await f.remote(3)); await shutdown();`,
    );
    const id = await client.submitJob({ entrypoint: `${process.execPath} ${file}; env`, runtimeEnv: { envVars: { TEAM: "hidden7" } } });
    const job = await ended(id);
    const log = await client.getJobLogs(id);
    expect(log.split("\n")[0]).toBe("hidden73");
    expect(job.jobId).toMatch(/^[0-9a-f]{8}$/);
    expect(log).not.toContain(token);
    const shown = await (await ask("GET", `/api/jobs/${id}`)).text();
    expect([shown.includes("hidden7"), shown.includes("TEAM")]).toEqual([false, true]);
    expect(await (await ask("GET", "/api/jobs/")).text()).not.toContain("hidden7");
  });

  test("that is stopped ends with all that it has started, also what ignores SIGTERM and has left its group", async () => {
    const script =
      "echo $$ >> PIDS; (trap '' TERM; sleep 300 & echo $! >> PIDS; wait; wait) & setsid sh -c 'echo $$ >> PIDS; exec sleep 300' & wait";
    const pids = await running(script, "tree");
    expect(pids.every(isAlive)).toBe(true);
    expect((await client.deleteJob("tree").catch((error: Error) => error.message)) as string).toContain("has not ended");
    expect(await client.stopJob("tree")).toBe(true);
    expect(await ended("tree")).toMatchObject({ status: "STOPPED", message: "Job was intentionally stopped." });
    await until(() => !pids.some(isAlive), "all its processes to end");
    expect(await client.stopJob("tree")).toBe(false);
  });

  test("that ends leaves no process behind", async () => {
    const pids = await running("echo $$ >> PIDS; setsid sh -c 'setsid sleep 300 & echo $! >> PIDS' & sleep 0.5", "twice");
    expect(await ended("twice")).toMatchObject({ status: "SUCCEEDED" });
    await until(() => !pids.some(isAlive), "its processes to end");
  });

  test("that is deleted is forgotten with its log, and its id is free", async () => {
    await client.submitJob({ submissionId: "again", entrypoint: "echo first" });
    await ended("again");
    expect(await client.deleteJob("again")).toBe(true);
    expect((await ask("GET", "/api/jobs/again")).status).toBe(404);
    await client.submitJob({ submissionId: "again", entrypoint: "echo second" });
    await ended("again");
    expect(await client.getJobLogs("again")).toBe("second\n");
  });
});

describe("a program", () => {
  test("that nobody submitted is listed, and cannot be stopped; one of a job names the job", async () => {
    const own = (await program(
      `import { getRuntimeContext, init, shutdown } from "shoal"; await init({ address: "auto" });
       console.log(JSON.stringify(getRuntimeContext().jobId)); await shutdown();`,
    )) as string;
    const row = (await client.listJobs()).find(({ jobId }) => jobId === own);
    expect(row).toMatchObject({ type: "DRIVER", submissionId: undefined, status: "SUCCEEDED" });
    expect((await ask("GET", `/api/jobs/${own}`)).status).toBe(200);
    const refused = await ask("POST", `/api/jobs/${own}/stop`);
    expect([refused.status, await refused.text()]).toEqual([400, "Can only stop submission type jobs"]);
    const submitted = (await client.listJobs()).find(({ jobId, type }) => type === "SUBMISSION" && jobId !== undefined);
    expect(await (await ask("GET", `/api/jobs/${submitted?.jobId}`)).json()).toMatchObject({ submission_id: submitted?.submissionId });
    expect((await client.listJobs()).filter(({ jobId }) => jobId === submitted?.jobId).length).toBe(1);
  });
});

describe("a working directory", () => {
  test("travels once, and each job has a copy of its own that goes with the job", async () => {
    const project = join(folder, "project");
    mkdirSync(join(project, "node_modules"), { recursive: true });
    writeFileSync(join(project, "data.txt"), "from the folder\n");
    writeFileSync(join(project, "node_modules", "large.js"), "x");
    const entrypoint = "pwd; ls; cat data.txt; echo more >> data.txt";
    const ids = [];
    for (const submissionId of ["dir1", "dir2"])
      ids.push(await client.submitJob({ submissionId, entrypoint, runtimeEnv: { workingDir: project } }));
    for (const id of ids) {
      expect(await ended(id)).toMatchObject({ status: "SUCCEEDED" });
      const [place, ...rest] = (await client.getJobLogs(id)).trimEnd().split("\n");
      expect(rest).toEqual(["data.txt", "from the folder"]);
      await until(() => !existsSync(place as string), "the copy to be removed");
    }
    const { runtimeEnv } = await client.getJobInfo("dir1");
    const [, name] = /^gcs:\/\/(_shoal_pkg_[0-9a-f]{40}\.zip)$/.exec(runtimeEnv["working_dir"] as string) ?? [];
    expect((await ask("GET", `/api/packages/gcs/${name}`)).status).toBe(200);
    expect((await ask("GET", `/api/packages/gcs/${name}`, undefined, viewToken)).status).toBe(403);
  });

  test("that is damaged, has a wrong name or was not sent is refused", async () => {
    const put = (path: string, body: string): Promise<Response> => ask("PUT", path, body);
    const bad = await put("/api/packages/gcs/_ray_pkg_00ff.zip", "PK nonsense");
    expect([bad.status, await bad.text()]).toEqual([400, expect.stringContaining("it is no zip archive")]);
    expect((await ask("GET", "/api/packages/gcs/_ray_pkg_00ff.zip")).status).toBe(404);
    for (const path of ["gcs/x.zip", "s3/_ray_pkg_00ff.zip", "gcs/_ray_pkg_zz.zip", "gcs/_ray_pkg_00ff.zip.size"])
      expect([path, (await put(`/api/packages/${path}`, "x")).status]).toEqual([path, 400]);
    for (const working_dir of ["gcs://_ray_pkg_00ff.zip", "/etc", "https://example.com/a.zip", "gcs://../x.zip"])
      expect([working_dir, (await ask("POST", "/api/jobs/", { entrypoint: "ls", runtime_env: { working_dir } })).status]).toEqual([
        working_dir,
        400,
      ]);
  });
});

describe("a request", () => {
  test("that is wrong is a 400 that says what to send, and leaves no job", async () => {
    const before = (await client.listJobs()).length;
    for (const body of [
      "",
      "[]",
      "{",
      {},
      { entrypoint: 1 },
      { entrypoint: "ls", submission_id: "a/b" },
      { entrypoint: "ls", submission_id: ".." },
      { entrypoint: "ls", submission_id: "--help" },
      { entrypoint: "ls", submission_id: "x".repeat(10_000) },
      { entrypoint: "ls", metadata: { a: 1 } },
      { entrypoint: "ls", runtime_env: { conda: "x" } },
    ]) {
      const answer = await ask("POST", "/api/jobs/", body);
      expect([body, answer.status, (await answer.text()).startsWith("Cannot ")]).toEqual([body, 400, true]);
    }
    expect((await ask("POST", "/api/jobs/", JSON.stringify({ entrypoint: "x".repeat(2_000_000) }))).status).toBe(413);
    expect((await client.listJobs()).length).toBe(before);
  });

  test("for a taken id is a 409, and for an unknown job a 404", async () => {
    await client.submitJob({ submissionId: "taken", entrypoint: "true" });
    expect((await ask("POST", "/api/jobs/", { entrypoint: "true", submission_id: "taken" })).status).toBe(409);
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/logs"],
      ["GET", "/logs/tail"],
      ["POST", "/stop"],
      ["DELETE", ""],
    ] as const)
      expect([method, path, (await ask(method, `/api/jobs/unknown${path}`)).status]).toEqual([method, path, 404]);
    await expect(client.tailJobLogs("unknown").next()).rejects.toThrow("Job unknown does not exist");
    await expect(client.getJobInfo("a/../b")).rejects.toThrow("a submission id is needed");
  });

  test("with a token that reads may not submit, stop or delete", async () => {
    expect((await ask("POST", "/api/jobs/", { entrypoint: "true" }, viewToken)).status).toBe(403);
    expect((await ask("POST", "/api/jobs/taken/stop", undefined, viewToken)).status).toBe(403);
    expect((await ask("DELETE", "/api/jobs/taken", undefined, viewToken)).status).toBe(403);
    expect((await ask("GET", "/api/jobs/taken", undefined, viewToken)).status).toBe(200);
  });
});

describe("the commands", () => {
  test("submit prints the output and exits with the job's code", async () => {
    const { stdout, stderr, exitCode } = await run(
      "job",
      "submit",
      "--submission-id",
      "cli",
      "--",
      "sh",
      "-c",
      "echo 'a  b' \"$0\"; exit 5",
      "$HOME",
    );
    expect([exitCode, stdout]).toEqual([5, "Submitted job cli.\na  b $HOME\n"]);
    expect(stderr).toContain("the job cli failed with exit code 5");
    expect((await run("job", "status", "cli", "--json")).stdout).toContain('"exit_code":5');
    expect((await run("job", "logs", "cli")).stdout).toBe("a  b $HOME\n");
    expect((await run("job", "list")).stdout).toContain("cli  FAILED (exit code 5)");
  });

  test("submit --no-wait --json prints the id alone, and stop waits for the end", async () => {
    const { stdout } = await run("job", "submit", "--no-wait", "--json", "--env", "A=b", "--", "echo $A; sleep 300");
    const { submission_id: id } = JSON.parse(stdout) as { submission_id: string };
    await until(async () => (await client.getJobLogs(id)) === "b\n", "its output");
    expect(JSON.parse((await run("job", "stop", id, "--json")).stdout)).toEqual({ stopped: true, status: "STOPPED" });
    expect((await run("job", "submit")).exitCode).toBe(2);
    expect((await run("job", "status", "none")).stderr).toContain("Job none does not exist");
  });
});

describe("a death", () => {
  test("of the dashboard and of the head's node is survived by the records, and its jobs fail with the cause", {
    timeout: 90_000,
  }, async () => {
    const pids = await running("echo $$ >> PIDS; setsid sh -c 'echo $$ >> PIDS; exec sleep 300' & wait", "lost");
    const dashboard = pidOf("the dashboard");
    process.kill(dashboard, "SIGKILL");
    await until(() => ![0, dashboard].includes(pidOf("the dashboard")), "another dashboard");
    await until(async () => (await client.getJobStatus("lost").catch(() => "")) === "RUNNING", "the job to be known");
    const node = pidOf("the node");
    process.kill(node, "SIGKILL");
    await until(async () => (await client.getJobStatus("lost").catch(() => "")) === "FAILED", "the job to fail");
    expect((await client.getJobInfo("lost")).message).toMatch(/^Its node \w{32} was lost while the job ran: /);
    await until(() => !pids.some(isAlive), "its processes to end");
    await until(async () => {
      const id = await client.submitJob({ entrypoint: "echo after" }).catch(() => undefined);
      return id !== undefined && (await ended(id)).status === "SUCCEEDED";
    }, "a job of the next node");
  });
});
