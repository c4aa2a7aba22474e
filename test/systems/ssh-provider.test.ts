/**
 * The provider `ssh` against Debian's OpenSSH server: three machines on loopback addresses, each with a separate home.
 *
 * The servers have their own configuration, keys and ports, and a `/run` of their own, so that nothing of this machine changes.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { providerSuite } from "shoal/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { SetupConfig } from "../../src/ops/autoscaler/config/cluster-config.ts";
import type { LaunchRequest, ProviderNode } from "../../src/ops/autoscaler/provider.ts";
import { SshProvider } from "../../src/ops/autoscaler/providers/ssh/ssh-provider.ts";
import { until, useFolder } from "../integration/session.ts";
import { SHOAL, useShoal } from "../integration/shoal-program.ts";

const SSHD = "/usr/sbin/sshd";
const canMount = existsSync(SSHD) && spawnSync("unshare", ["-m", "true"]).status === 0;
const problem = canMount ? undefined : `no ${SSHD} (apt-get install openssh-server), or no right to mount`;
const HOSTS = ["127.0.0.2", "127.0.0.3", "127.0.0.4"] as const;

const folder = useFolder();
const homeOf = (host: string): string => join(folder, host);
const servers: ChildProcess[] = [];
const providers: SshProvider[] = [];
const configFile = join(folder, "ssh_config");

async function freePort(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function newKey(name: string): void {
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)]);
}

async function startServer(host: string): Promise<void> {
  const home = homeOf(host);
  mkdirSync(join(home, "t"), { recursive: true });
  newKey(`host-${host}`);
  const port = await freePort(host);
  // A login shell sets PATH anew.
  writeFileSync(join(home, ".bash_profile"), `export PATH=${join(folder, "bin")}:/usr/bin:/bin\n`);
  writeFileSync(
    join(home, "sshd_config"),
    `ListenAddress ${host}:${port}
HostKey ${join(folder, `host-${host}`)}
AuthorizedKeysFile ${join(folder, "key.pub")}
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
LogLevel ERROR
SetEnv HOME=${home} XDG_STATE_HOME=${join(home, "state")} TMPDIR=${join(home, "t")} SHOAL_NATS_BIN=
`,
  );
  const start = `mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec ${SSHD} -D -e -f ${join(home, "sshd_config")}`;
  servers.push(spawn("unshare", ["-m", "sh", "-c", start], { stdio: ["ignore", "inherit", "inherit"] }));
  appendFileSync(join(folder, "known"), `[${host}]:${port} ${readFileSync(join(folder, `host-${host}.pub`), "utf8")}`);
  appendFileSync(configFile, `Host ${host}\n  Port ${port}\n  User root\n`);
  const looks = ["-F", configFile, "-i", join(folder, "key"), "-o", "BatchMode=yes", host, "true"];
  await until(() => spawnSync("ssh", looks).status === 0, `the server at ${host} to answer`);
}

beforeAll(async () => {
  if (!canMount) return;
  newKey("key");
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin", "shoal"), `#!/bin/sh\nexec ${process.execPath} ${SHOAL} "$@"\n`);
  chmodSync(join(folder, "bin", "shoal"), 0o755);
  writeFileSync(configFile, `UserKnownHostsFile ${join(folder, "known")}\nGlobalKnownHostsFile /dev/null\n`);
  for (const host of HOSTS) await startServer(host);
});

afterEach(async () => {
  for (const provider of providers.splice(0)) {
    await provider.terminate((await provider.list()).map(({ instanceId }) => instanceId));
    await provider.close();
  }
});

afterAll(async () => {
  for (const server of servers) server.kill("SIGTERM");
  await until(() => processesOfMachines().length === 0, "all processes of the machines to end");
});

function processesOfMachines(): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, "utf8").includes(`HOME=${folder}/127.`);
    } catch {
      return false;
    }
  });
}

function opened(hosts: readonly string[] = HOSTS, changes: Partial<SetupConfig> = {}, clusterName = "sky"): SshProvider {
  const access = { user: undefined, privateKey: join(folder, "key"), proxyCommand: undefined, configFile };
  const setup = { initializationCommands: [], fileMounts: [], rsyncExclude: [], setupCommands: [], ...changes };
  const provider = new SshProvider({ clusterName, hosts, access, setup, log: () => {} });
  providers.push(provider);
  return provider;
}

/** A node that notes its token and waits. */
const NODE = 'for word; do file=$word; done; stat -c %a "$file" >"$HOME/mode"; cat "$file" >"$HOME/seen"; echo joined; exec sleep 600';

function request(instanceId: string, changes: Partial<LaunchRequest> = {}): LaunchRequest {
  const command = ["sh", "-c", NODE, "node"];
  return {
    instanceId,
    type: "worker",
    resources: { CPU: 1 },
    labels: {},
    nodeConfig: {},
    command,
    env: {},
    joinToken: "top-secret",
    ...changes,
  };
}

async function listed(provider: SshProvider, id: string, state: ProviderNode["state"]): Promise<ProviderNode> {
  let found: ProviderNode | undefined;
  await until(async () => {
    found = (await provider.list()).find(({ instanceId }) => instanceId === id);
    return found?.state === state;
  }, `${id} to be ${state}`);
  return found as ProviderNode;
}

describe.skipIf(problem !== undefined)(`OpenSSH${problem === undefined ? "" : `: ${problem}`}`, () => {
  describe("the contract of providers", () => {
    const make = async (): Promise<{ provider: SshProvider; close: () => Promise<void>; request: Partial<LaunchRequest> }> => {
      const provider = opened();
      return {
        provider,
        close: async () => provider.terminate((await provider.list()).map(({ instanceId }) => instanceId)),
        request: { command: ["sh", "-c", NODE, "node"] },
      };
    };
    for (const { name, run } of providerSuite(make)) test(name, async () => void (await run()));
  });

  test("a machine is set up in order, and the token is in a private file alone, for as long as the node needs it", async () => {
    const source = join(folder, "mounted");
    mkdirSync(join(source, "deep"), { recursive: true });
    mkdirSync(join(source, ".git"));
    writeFileSync(join(source, "deep", "it's a file"), "of the folder");
    writeFileSync(join(source, ".git", "config"), "");
    const provider = opened([HOSTS[0]], {
      initializationCommands: ["test ! -e ~/mounts; echo first >~/order"],
      fileMounts: [
        { from: source, to: "~/mounts/a folder" },
        { from: configFile, to: join(homeOf(HOSTS[0]), "one", "file") },
      ],
      rsyncExclude: [".git"],
      setupCommands: [`cat ~/mounts/"a folder"/deep/* >>~/order`, "echo ' last' >>~/order"],
    });
    await provider.launch([request("a-1", { env: { COLOUR: "deep blue" }, resources: { CPU: 2, memory: 5 } })]);
    await listed(provider, "a-1", "running");
    const home = homeOf(HOSTS[0]);
    expect(readFileSync(join(home, "order"), "utf8")).toBe("first\nof the folder last\n");
    expect(readdirSync(join(home, "mounts", "a folder"))).toEqual(["deep"]);
    expect(readFileSync(join(home, "one", "file"), "utf8")).toBe(readFileSync(configFile, "utf8"));
    expect([readFileSync(join(home, "mode"), "utf8"), readFileSync(join(home, "seen"), "utf8")]).toEqual(["600\n", "top-secret"]);
    expect(readdirSync(join(home, "state", "shoal", "machine")).sort()).toEqual(["claim", "err", "out", "pid"]);
    await provider.terminate(["a-1"]);
    expect(existsSync(join(home, "state", "shoal", "machine"))).toBe(false);
  });

  test("a failed command is the cause, with its last lines, and the machine is free again", async () => {
    const provider = opened([HOSTS[0]], { setupCommands: ["seq 1 9000; echo no disk >&2; exit 7"] });
    await provider.launch([request("a-1")]);
    const { reason } = await listed(provider, "a-1", "failed");
    expect(reason).toBe("127.0.0.2 failed at `seq 1 9000; echo no disk >&2; exit 7`: exit code 7: no disk");
    await provider.terminate(["a-1"]);
    expect(await provider.list()).toEqual([]);
    const broken = opened([HOSTS[0]]);
    await broken.launch([request("a-2", { command: ["sh", "-c", "echo no such head >&2; exit 1", "node"] })]);
    expect((await listed(broken, "a-2", "failed")).reason).toBe("127.0.0.2 has not started the node: exit code 74: no such head");
  });

  test("a machine of another cluster, one with another host key and one that does not answer are named", async () => {
    const other = opened([HOSTS[0]], {}, "other");
    await other.launch([request("o-1")]);
    await listed(other, "o-1", "running");
    const wrongKey = join(folder, "wrong_config");
    const known = readFileSync(join(folder, "known"), "utf8").split("\n");
    const [, , key] = (known[0] as string).split(" ");
    writeFileSync(join(folder, "wrong"), known.map((line) => line.replace(/(ed25519) .*/, `$1 ${key}`)).join("\n"));
    const closed = `Host 127.0.0.4\n  Port ${await freePort("127.0.0.4")}\n`;
    const [known0 = "", global = "", ...hosts] = readFileSync(configFile, "utf8").split("\n");
    const wrongKnown = known0.replace(join(folder, "known"), join(folder, "wrong"));
    writeFileSync(wrongKey, [wrongKnown, global, closed, ...hosts].join("\n"));
    const access = { user: undefined, privateKey: join(folder, "key"), proxyCommand: undefined, configFile: wrongKey };
    const setup = { initializationCommands: [], fileMounts: [], rsyncExclude: [], setupCommands: [] };
    const provider = new SshProvider({ clusterName: "sky", hosts: HOSTS, access, setup, log: () => {} });
    const [answer] = await provider.launch([request("a-1")]);
    expect(answer).toMatchObject({ instanceId: "a-1", cause: "capacity" });
    const { message } = answer as { message: string };
    expect(message).toContain("none of 3 machines is free; 127.0.0.2 is used by the cluster other; 127.0.0.3 does not answer: ");
    expect(message).toContain("Host key verification failed");
    expect(message).toMatch(/127\.0\.0\.4 does not answer: .*Connection refused/s);
    expect(await provider.list()).toEqual([]);
    await provider.close();
    // A machine whose node has died may be taken by another cluster.
    const pid = Number(readFileSync(join(homeOf(HOSTS[0]), "state", "shoal", "machine", "pid"), "utf8").split(" ")[0]);
    process.kill(pid, "SIGKILL");
    const heir = opened([HOSTS[0]]);
    await until(async () => "providerId" in ((await heir.launch([request("a-2")]))[0] ?? {}), "the machine to be taken");
    await listed(heir, "a-2", "running");
  });

  test("the next autoscaler finds nodes, and ends launches that were broken off", async () => {
    const first = opened([HOSTS[0], HOSTS[1]], { setupCommands: [`[ "$HOME" = ${homeOf(HOSTS[0])} ] || sleep 600`] });
    await first.launch([request("a-1"), request("a-2")]);
    await listed(first, "a-1", "running");
    await until(() => existsSync(join(homeOf(HOSTS[1]), "state", "shoal", "machine", "claim")), "the second machine to be claimed");
    providers.splice(providers.indexOf(first), 1);
    await first.close();
    const second = opened([HOSTS[0], HOSTS[1]]);
    expect(await second.list()).toMatchObject([
      { instanceId: "a-1", state: "running", type: "worker" },
      { instanceId: "a-2", state: "failed", reason: "its launch was broken off" },
    ]);
    await second.terminate(["a-1", "a-2"]);
    expect(await second.list()).toEqual([]);
    for (const host of HOSTS) rmSync(join(homeOf(host), "state"), { recursive: true, force: true });
  });

  describe("a cluster", () => {
    const { folder: place, run: shoal, program } = useShoal();

    test("a task that waits gets a node over ssh, and the idle node goes", async () => {
      const file = join(place, "cluster.yaml");
      writeFileSync(
        file,
        `cluster_name: sky
max_workers: 3
idle_timeout_minutes: 0.01
provider: { type: local, head_ip: 127.0.0.1, worker_ips: [${HOSTS.join(", ")}], ssh_config: ${configFile} }
auth: { ssh_private_key: ${join(folder, "key")} }
setup_commands: ["echo ready >~/setup"]
head_node_type: head
available_node_types:
  head: { resources: { CPU: 1 } }
  telescope: { resources: { CPU: 1, telescope: 1 }, node_config: { worker_ips: [${HOSTS[2]}] } }
`,
      );
      const up = await shoal("up", file, "--port", "0", "--no-dashboard");
      expect([up.stderr, up.exitCode]).toEqual(["", 0]);
      const seen = await program(`
import { init, remote, shutdown } from "shoal";
await init({ address: "auto" });
const seen = await remote(() => process.env.HOME).options({ resources: { telescope: 1 } }).remote();
await shutdown();
console.log(JSON.stringify(seen));
`);
      expect(seen).toBe(homeOf(HOSTS[2]));
      expect(readFileSync(join(homeOf(HOSTS[2]), "setup"), "utf8")).toBe("ready\n");
      await until(() => !existsSync(join(homeOf(HOSTS[2]), "state", "shoal", "machine")), "the idle node to go");
      expect((await shoal("down", file)).exitCode).toBe(0);
    });
  });
});
