/**
 * The provider `slurm` against Debian's Slurm: a controller and three node daemons in namespaces of their own.
 *
 * Each program of Slurm that the provider calls runs in these namespaces, and so do the jobs. Nothing of this machine changes.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { providerSuite } from "shoal/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { LaunchRequest, ProviderNode } from "../../src/ops/autoscaler/provider.ts";
import { SlurmProvider } from "../../src/ops/autoscaler/providers/slurm/slurm-provider.ts";
import { until, useFolder } from "../integration/session.ts";
import { SHOAL, useShoal } from "../integration/shoal-program.ts";

const PROGRAMS = ["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "/usr/bin/sbatch"];
const canRun =
  PROGRAMS.every((path) => existsSync(path)) && spawnSync("unshare", ["-m", "--pid", "--fork", "--mount-proc", "true"]).status === 0;
const problem = canRun ? undefined : "no Slurm (apt-get install slurmctld slurmd slurm-client munge), or no right to mount";

const folder = useFolder();
const bin = join(folder, "bin");
const shared = join(folder, "shared");
let world: ChildProcess | undefined;

function configuration(basePort: number): string {
  return `ClusterName=test
SlurmctldHost=localhost
SlurmUser=root
SlurmctldPort=${basePort}
AuthType=auth/munge
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=${folder}/slurmctld.log
SlurmdLogFile=${folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=10
MpiDefault=none
NodeName=n[1-3] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[${basePort + 1}-${basePort + 3}] CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`;
}

/** Names of Slurm's programs that enter the namespaces first. */
function makePrograms(pid: number): void {
  mkdirSync(bin);
  for (const name of ["sbatch", "squeue", "scancel"]) {
    const enter = `exec nsenter -t ${pid} -m -p env SLURM_CONF=${folder}/slurm.conf /usr/bin/${name} "$@"`;
    writeFileSync(join(bin, name), `#!/bin/sh\n${enter}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(bin, "shoal"), `#!/bin/sh\nexec ${process.execPath} ${SHOAL} "$@"\n`);
  chmodSync(join(bin, "shoal"), 0o755);
}

const path = process.env["PATH"];

beforeAll(async () => {
  if (!canRun) return;
  mkdirSync(join(folder, "state"));
  mkdirSync(join(folder, "home", "t"), { recursive: true });
  // Jobs begin with a login shell, which sets PATH anew.
  const variables = {
    PATH: `${bin}:/usr/bin:/bin`,
    TMPDIR: join(folder, "home", "t"),
    XDG_STATE_HOME: join(folder, "home"),
    SHOAL_NATS_BIN: "",
  };
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${value}\n`);
  writeFileSync(join(folder, "home", ".bash_profile"), exports.join(""));
  writeFileSync(join(folder, "slurm.conf"), configuration(20_000 + (process.pid % 10_000)));
  execFileSync("sh", ["-c", `head -c 1024 /dev/urandom >${folder}/munge.key && chmod 400 ${folder}/munge.key`]);
  const munge = `munged --force --key-file=${folder}/munge.key --pid-file=/run/munge/pid --log-file=${folder}/munged.log --seed-file=/run/munge/seed`;
  const daemons = ["slurmctld", "slurmd -N n1", "slurmd -N n2", "slurmd -N n3"].map((words) => `${words} -f ${folder}/slurm.conf`);
  const start = ["mount -t tmpfs tmpfs /run", "mkdir /run/munge", munge, ...daemons, "echo up", "exec sleep infinity"].join(" && ");
  const args = ["-m", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", `export SLURM_CONF=${folder}/slurm.conf && ${start}`];
  world = spawn("unshare", args, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve) => world?.stdout?.once("data", () => resolve()));
  const inside = readFileSync(`/proc/${world.pid}/task/${world.pid}/children`, "utf8").trim();
  makePrograms(Number(inside));
  process.env["PATH"] = `${bin}:${path}`;
  const info = ["-t", inside, "-m", "-p", "env", `SLURM_CONF=${folder}/slurm.conf`, "sinfo", "--noheader", "--format=%D %t"];
  await until(() => execFileSync("nsenter", info).toString().trim() === "3 idle", "three nodes to be idle");
});

afterAll(async () => {
  process.env["PATH"] = path;
  world?.kill("SIGKILL");
  await until(() => world?.signalCode !== null, "the namespaces to end");
});

const providers: SlurmProvider[] = [];
afterEach(async () => {
  for (const provider of providers.splice(0)) await endAll(provider);
});

async function endAll(provider: SlurmProvider): Promise<void> {
  await until(async () => {
    const left = await provider.list();
    await provider.terminate(left.map(({ instanceId }) => instanceId));
    return left.every(({ state }) => state === "failed");
  }, "all jobs to end");
}

function opened(setupCommands: readonly string[] = [], clusterName = "sky"): SlurmProvider {
  const setup = { initializationCommands: [], fileMounts: [], rsyncExclude: [], setupCommands };
  const provider = new SlurmProvider({ clusterName, folder: shared, setup });
  providers.push(provider);
  return provider;
}

function request(instanceId: string, changes: Partial<LaunchRequest> = {}): LaunchRequest {
  const command = ["sh", "-c", `printf %s "$SHOAL_TOKEN" >${folder}/seen; exec sleep 600`, "node"];
  const env = { HOME: join(folder, "home") };
  return {
    instanceId,
    type: "worker",
    resources: { CPU: 1 },
    labels: {},
    nodeConfig: {},
    command,
    env,
    joinToken: "top-secret",
    ...changes,
  };
}

async function listed(provider: SlurmProvider, id: string, state: ProviderNode["state"]): Promise<ProviderNode> {
  let found: ProviderNode | undefined;
  await until(async () => {
    found = (await provider.list()).find(({ instanceId }) => instanceId === id);
    return found?.state === state;
  }, `${id} to be ${state}`);
  return found as ProviderNode;
}

describe.skipIf(problem !== undefined)(`Slurm${problem === undefined ? "" : `: ${problem}`}`, () => {
  describe("the contract of providers", () => {
    const make = async (): Promise<{ provider: SlurmProvider; close: () => Promise<void>; request: Partial<LaunchRequest> }> => {
      const provider = opened();
      return { provider, close: () => endAll(provider), request: { command: ["sh", "-c", "exec sleep 600", "node"] } };
    };
    for (const { name, run } of providerSuite(make)) test(name, async () => void (await run()));
  });

  test("a job gets its resources and its token, which no command line and no file keeps", async () => {
    const provider = opened([`echo ready >${folder}/setup`]);
    const nodeConfig = { partition: "main", sbatch_options: ["--exclusive"] };
    await provider.launch([request("a-1", { resources: { CPU: 2 }, nodeConfig })]);
    const { address, providerId } = await listed(provider, "a-1", "running");
    expect([address, providerId]).toEqual([expect.stringMatching(/^n[123]$/), expect.stringMatching(/^\d+$/)]);
    await until(() => existsSync(join(folder, "seen")), "the node to have its token");
    expect([readFileSync(join(folder, "seen"), "utf8"), readFileSync(join(folder, "setup"), "utf8")]).toEqual(["top-secret", "ready\n"]);
    expect(readdirSync(shared).filter((name) => name.endsWith(".token"))).toEqual([]);
    await provider.terminate(["a-1"]);
    await until(async () => (await provider.list()).length === 0, "the job to leave the list");
  });

  test("a job that fails, one that Slurm refuses, one that waits and those of another cluster", async () => {
    const provider = opened();
    const [refused] = await provider.launch([request("b-1", { nodeConfig: { partition: "moon" } })]);
    expect(refused).toMatchObject({
      instanceId: "b-1",
      cause: "other",
      message: expect.stringContaining("Invalid partition name specified"),
    });
    await provider.launch([request("b-2", { command: ["sh", "-c", "exit 3", "node"] })]);
    expect((await listed(provider, "b-2", "failed")).reason).toBe("its job ended with FAILED");
    const busy = [1, 2, 3].map((index) => request(`b-busy-${index}`, { nodeConfig: { sbatch_options: ["--exclusive"] } }));
    await provider.launch(busy);
    for (const { instanceId } of busy) await listed(provider, instanceId, "running");
    await provider.launch([request("b-3")]);
    expect((await listed(provider, "b-3", "pending")).reason).toMatch(/^(Resources|Priority)$/);
    expect(await opened([], "other").list()).toEqual([]);
  });

  describe("a cluster", () => {
    const { folder: place, environment, run: shoal, program } = useShoal({ PATH: `${bin}:/usr/bin:/bin` });

    test("a task that waits gets a node by Slurm, and the idle node goes", async () => {
      expect(environment["PATH"]).toContain(bin);
      const file = join(place, "cluster.yaml");
      writeFileSync(
        file,
        `cluster_name: sky
max_workers: 3
idle_timeout_minutes: 0.01
provider: { type: slurm, folder: ${join(folder, "cluster")} }
initialization_commands: [". ${join(folder, "home", ".bash_profile")}"]
head_node_type: head
available_node_types:
  head: { resources: { CPU: 1 } }
  telescope: { resources: { CPU: 1, telescope: 1 }, node_config: { partition: main } }
`,
      );
      const up = await shoal("up", file, "--port", "0", "--no-dashboard");
      expect([up.stderr, up.exitCode]).toEqual(["", 0]);
      const seen = await program(`
import { init, remote, shutdown } from "shoal";
await init({ address: "auto" });
const seen = await remote(() => process.env.SLURM_JOB_NAME).options({ resources: { telescope: 1 } }).remote();
await shutdown();
console.log(JSON.stringify(seen));
`);
      expect(seen).toMatch(/^sky-[0-9a-f]{12}$/);
      const jobs = (): string => execFileSync(join(bin, "squeue"), ["--noheader"]).toString();
      await until(() => jobs().trim() === "", "the idle node's job to end");
      expect((await shoal("down", file)).exitCode).toBe(0);
    });
  });
});
