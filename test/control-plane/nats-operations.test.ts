/**
 * The NATS of a head as it runs it: the real server under our supervisor, with the keys of a cluster, TLS, and everything that can be wrong with them.
 *
 * Each test has a separate folder; the end checks that no server is left.
 */
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { natsServerBinary } from "../../scripts/nats-server.mjs";
import type { NodeId } from "../../src/runtime/base/ids.ts";
import type { ControlPlaneUnavailableError } from "../../src/runtime/control-plane/control-plane-errors.ts";
import { ClusterAuthority } from "../../src/runtime/nats/cluster-authority.ts";
import { connectNats } from "../../src/runtime/nats/nats-link.ts";
import { openControlPlane } from "../../src/runtime/nats/open-control-plane.ts";
import type { NatsLogin } from "../../src/runtime/nats/server/nats-login-files.ts";
import { NatsProcess, type NatsProcessEvent, type NatsProcessOptions, type TlsTexts } from "../../src/runtime/nats/server/nats-process.ts";
import { certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import { mountMemory } from "../house/small-disk.ts";
import { freePorts } from "./free-ports.ts";
import { until } from "./nats-servers.ts";
import { bytes, describeNats, text } from "./planes.ts";
import { makeCertificate } from "./tls-files.ts";

const CLUSTER = "c";
const HEAD_NAME = "head.shoal";

describeNats("the NATS of a head", () => {
  let folder: string;
  let authority: ClusterAuthority;
  let closers: (() => unknown)[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "shoal-nats-operations-"));
    authority = ClusterAuthority.open({ folder: join(folder, "head"), cluster: CLUSTER });
  });
  afterEach(async () => {
    for (const close of closers.reverse()) await close();
    closers = [];
    rmSync(folder, { recursive: true, force: true });
  });
  afterAll(() => {
    const left = serversUnder("shoal-nats-operations-");
    if (left.length > 0) throw new Error(`servers that were left: ${left.join(", ")}`);
  });

  function settings(more: Partial<NatsProcessOptions> = {}): NatsProcessOptions {
    return {
      program: natsServerBinary(),
      folder: join(folder, "nats"),
      cluster: CLUSTER,
      name: "n0",
      host: "127.0.0.1",
      port: 0,
      access: { authority: authority.serverAuthority(), account: authority.account },
      ...more,
    };
  }

  async function start(more: Partial<NatsProcessOptions> = {}): Promise<NatsProcess> {
    const server = await NatsProcess.start(settings(more));
    closers.push(() => server.close());
    return server;
  }

  async function connectHead(urls: readonly string[]): Promise<Awaited<ReturnType<typeof openControlPlane>>> {
    const plane = await openControlPlane({
      kind: "nats",
      urls,
      cluster: CLUSTER,
      name: "head",
      credentials: authority.headCredentials("head"),
    });
    closers.push(() => plane.close());
    return plane;
  }

  // -----------------------------------------------------------------------------------------------------------------
  // The process

  test("is ready when it answers, keeps its folder to itself, and leaves nothing but its state when it ends", async () => {
    const server = await start();
    const plane = await connectHead([server.url]);
    await plane.store.transaction({ writes: [{ key: "actor.1", value: bytes("a") }] });
    const nats = join(folder, "nats");
    expect(statSync(nats).mode & 0o777).toBe(0o700);
    expect(statSync(join(nats, "nats.conf")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(nats, "nats.log"), "utf8")).toContain("Server is ready");
    const { pid } = server;
    await server.close();
    await server.close();
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    expect(readdirSync(nats).sort()).toEqual(["cluster.json", "nats.conf", "nats.log", "state"]);
  });

  test("is started again on the same port with what it had acknowledged, however often it dies", async () => {
    const events: NatsProcessEvent[] = [];
    const server = await start({ onEvent: (event) => events.push(event) });
    const plane = await connectHead([server.url]);
    for (let round = 0; round < 3; round += 1) {
      await plane.store.transaction({ writes: [{ key: `k.${round}`, value: bytes(String(round)) }] });
      const { pid, url } = server;
      process.kill(pid ?? 0, "SIGKILL");
      await until(() => events.filter(({ kind }) => kind === "ready").length === round + 2, "the server is ready again");
      expect(server.url).toBe(url);
      expect(server.pid).not.toBe(pid);
    }
    const ended = events.flatMap((event) => (event.kind === "ended" ? [event] : []));
    expect(ended.map(({ startsAgainInMs }) => startsAgainInMs)).toEqual([100, 200, 400]);
    expect(ended[0]?.error.message).toContain("it was ended by SIGKILL");
    expect((await plane.store.list("k")).map(({ value }) => text(value))).toEqual(["0", "1", "2"]);
  });

  test("ends with its owner, also when that is killed, and the next head on the folder waits for it", async () => {
    const owner = spawn(process.execPath, [fileURLToPath(new URL("nats-owner.ts", import.meta.url)), JSON.stringify(settings())], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const pid = Number(await new Promise<string>((resolve) => owner.stdout.once("data", (data) => resolve(String(data)))));
    expect(serversUnder(folder)).toEqual([pid]);
    owner.kill("SIGKILL");
    const server = await start();
    expect(serversUnder(folder)).toEqual([server.pid]);
    await until(() => !existsSync(`/proc/${pid}`), "the old server is gone");
  });

  test("two servers on one folder are one too many", async () => {
    const server = await start();
    await expect(start()).rejects.toMatchObject({ reason: "folder in use", message: expect.stringContaining(`${server.pid}`) as string });
    expect(serversUnder(folder)).toEqual([server.pid]);
  });

  test("says that the port is taken, and by which way out", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    closers.push(() => other.close());
    const { port } = other.address() as { port: number };
    await expect(start({ port })).rejects.toMatchObject({
      code: "NATS_SERVER_FAILED",
      reason: "port taken",
      message: expect.stringContaining(`the port ${port} of 127.0.0.1`) as string,
    });
    expect(serversUnder(folder)).toEqual([]);
  });

  test("refuses the folder of another cluster and of other keys, and one that others can read", async () => {
    await (await start()).close();
    await expect(start({ cluster: "d" })).rejects.toMatchObject({
      reason: "data directory of another cluster",
      message: expect.stringContaining('the cluster "c", and this is "d"') as string,
    });
    const other = ClusterAuthority.open({ folder: join(folder, "other"), cluster: CLUSTER });
    const access = { authority: other.serverAuthority(), account: other.account };
    await expect(start({ access })).rejects.toMatchObject({ reason: "data directory of another cluster" });
    chmodSync(join(folder, "nats"), 0o755);
    await expect(start()).rejects.toMatchObject({ code: "SECRET_FILE_OPEN" });
  });

  test("a program that is none, and a port for other servers that nobody can know", async () => {
    await expect(start({ program: "/nowhere/nats-server" })).rejects.toThrow(/it ended with code 127/);
    const routes = { host: "127.0.0.1", port: 0, routes: [] };
    await expect(start({ routes })).rejects.toThrow(RangeError);
  });

  test("its log begins anew by size, and old logs are deleted", async () => {
    const server = await start({ logSizeBytesMax: 8 * 1024 });
    // Each refused connection is a line.
    for (let round = 0; round < 400; round += 1) {
      await connectNats({ servers: [server.url], name: "stranger", connectTimeoutMs: 20_000 }).catch(() => {});
    }
    const logs = readdirSync(dirname(server.logFile)).filter((name) => name.startsWith("nats.log"));
    expect(logs.length).toBeGreaterThan(1);
    expect(logs.length).toBeLessThanOrEqual(6);
    for (const name of logs) expect(statSync(join(dirname(server.logFile), name)).size).toBeLessThan(16 * 1024);
  });

  test("a full disk is said at the start, and when it becomes full the server comes back with its state once there is room", async (context) => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    if (!mountMemory(disk, "100m")) return context.skip("no right to mount a small disk here");
    closers.push(() => execFileSync("umount", [disk]));
    const fill = (name: string, megabytes: number): void => {
      try {
        writeFileSync(join(disk, name), Buffer.alloc(megabytes * 1024 * 1024));
      } catch {
        // Full is what it is to be.
      }
    };
    fill("early", 60);
    await expect(start({ folder: join(disk, "nats") })).rejects.toMatchObject({ reason: "disk full" });
    rmSync(join(disk, "early"));
    const events: NatsProcessEvent[] = [];
    const server = await start({ folder: join(disk, "nats"), onEvent: (event) => events.push(event) });
    const plane = await connectHead([server.url]);
    await plane.store.transaction({ writes: [{ key: "kept", value: bytes("1") }] });
    fill("late", 100);
    const writing = until(async () => {
      const result = await plane.store
        .transaction({ writes: [{ key: "filler", value: new Uint8Array(500_000) }], timeoutMs: 500 })
        .catch((error: unknown) => error);
      return result instanceof Error && events.some(({ kind }) => kind === "diskFull");
    }, "the full disk is noticed");
    await writing;
    rmSync(join(disk, "late"));
    await until(() => events.filter(({ kind }) => kind === "ready").length === 2, "the server is started again");
    expect(text((await plane.store.get("kept"))?.value)).toBe("1");
    expect(await plane.store.transaction({ writes: [{ key: "after", value: bytes("2") }] })).toMatchObject({ committed: true });
  });

  test("three servers with routes are one cluster, and who does not know the routes' secret does not get in", async () => {
    const ports = await freePorts(4);
    const routes = ports.slice(0, 3).map((port) => `nats://127.0.0.1:${port}`);
    const member = (index: number, secret: string): Promise<NatsProcess> =>
      start({
        folder: join(folder, `nats${index}`),
        name: `n${index}`,
        routes: { host: "127.0.0.1", port: ports[index] as number, routes, secret },
      });
    const servers = await Promise.all([0, 1, 2].map((index) => member(index, "right")));
    const stranger = await member(3, "wrong");
    const plane = await openControlPlane({
      kind: "nats",
      urls: servers.map(({ url }) => url),
      cluster: CLUSTER,
      name: "head",
      credentials: authority.headCredentials("head"),
      replicas: 3,
    });
    closers.push(() => plane.close());
    const first = await plane.store.transaction({ checks: [{ key: "k", revision: 0 }], writes: [{ key: "k", value: bytes("1") }] });
    const [revision = 0] = first.committed ? first.revisions : [];
    process.kill(servers[0]?.pid ?? 0, "SIGKILL");
    // With a check, so that it may be sent again when the server with the answer is gone.
    await plane.store.transaction({ checks: [{ key: "k", revision }], writes: [{ key: "k", value: bytes("2") }] });
    expect(text((await plane.store.get("k"))?.value)).toBe("2");
    await until(() => /Authorization Violation/i.test(readFileSync(stranger.logFile, "utf8")), "the stranger is told");
    await until(() => /authentication error/.test(readFileSync(servers[1]?.logFile ?? "", "utf8")), "the stranger is refused");
  });

  // -----------------------------------------------------------------------------------------------------------------
  // Who may do what

  test("without credentials, with those of a foreign signer or with another's key nobody gets in", async () => {
    const { url } = await start();
    const refused = { reason: expect.stringMatching(/wrong (token|credentials)/) as string };
    await expect(connectNats({ servers: [url], name: "x" })).rejects.toMatchObject(refused);
    await expect(connectNats({ servers: [url], name: "x", token: "guess" })).rejects.toMatchObject(refused);
    const foreign = ClusterAuthority.open({ folder: join(folder, "foreign"), cluster: CLUSTER });
    const credentials = foreign.headCredentials("x");
    await expect(connectNats({ servers: [url], name: "x", credentials })).rejects.toMatchObject(refused);
    const { token } = authority.headCredentials("x")();
    const { seed } = authority.headCredentials("x")();
    await expect(connectNats({ servers: [url], name: "x", credentials: () => ({ token, seed }) })).rejects.toMatchObject(refused);
  });

  test("expired credentials end the connection, and new ones bring it back", async () => {
    const { url } = await start();
    const place = { kind: "nats", urls: [url], cluster: CLUSTER, name: "head" } as const;
    /** The credentials of a head whose clock is so far behind that they are over in a moment. */
    const ending = (lateMs: () => number): (() => NatsLogin) =>
      ClusterAuthority.open({ folder: join(folder, "head"), cluster: CLUSTER, nowMs: () => Date.now() - lateMs() }).headCredentials("head");
    const almostDayMs = 24 * 3_600_000 - 5_000;
    let logins = 0;
    const renewed = ending(() => (logins === 1 ? almostDayMs : 0));
    await using plane = await openControlPlane({
      ...place,
      credentials: () => {
        logins += 1;
        return renewed();
      },
    });
    const stale = ending(() => almostDayMs)();
    await using left = await openControlPlane({ ...place, credentials: () => stale });
    await until(() => logins > 1 && plane.isConnected(), "the connection is made again with new credentials");
    await plane.store.transaction({ writes: [{ key: "k", value: bytes("1") }] });
    expect(text((await plane.store.get("k"))?.value)).toBe("1");
    await until(() => !left.isConnected(), "the connection with the other credentials ends");
    // A token is good until its last second ends, so the client may come back once within that second.
    const again = async (): Promise<string | undefined> =>
      await connectNats({ servers: [url], name: "late", credentials: () => stale }).then(
        async (link) => {
          await link.close();
          return undefined;
        },
        ({ reason }: ControlPlaneUnavailableError) => reason,
      );
    await until(async () => (await again()) === "wrong credentials", "the other credentials are refused");
    await until(() => !left.isConnected(), "the connection that came back in the last second ends");
    expect(await again()).toBe("wrong credentials");
    expect(left.isConnected()).toBe(false);
  });

  test.each([
    ["made by openssl", makeCertificate],
    ["of the cluster's own authority", ownCertificate],
  ])("over TLS only those get in who know the authority, and only to a server that has the name: certificates %s", async (_, make) => {
    const tls = make(HEAD_NAME);
    // No openssl here.
    if (tls === undefined) return;
    const { url } = await start({ tls });
    const place = { kind: "nats", urls: [url], cluster: CLUSTER, name: "head", credentials: authority.headCredentials("head") } as const;
    await using plane = await openControlPlane({ ...place, tls: { ca: tls.ca, serverName: HEAD_NAME } });
    await plane.store.transaction({ writes: [{ key: "k", value: bytes("1") }] });
    const wrong = { reason: "wrong certificate" };
    await expect(openControlPlane({ ...place, tls: { ca: tls.ca, serverName: "other.shoal" } })).rejects.toMatchObject(wrong);
    const foreign = make(HEAD_NAME)?.ca ?? "";
    await expect(openControlPlane({ ...place, tls: { ca: foreign, serverName: HEAD_NAME } })).rejects.toMatchObject(wrong);
    await expect(openControlPlane({ ...place, connectTimeoutMs: 500 })).rejects.toMatchObject({ code: "CONTROL_PLANE_UNAVAILABLE" });
  });

  // -----------------------------------------------------------------------------------------------------------------
  // The control plane over it

  test("a control plane in memory and one on NATS are opened and closed alike", async () => {
    const { url } = await start();
    for (const open of [() => openControlPlane({ kind: "memory" }), () => connectHead([url])]) {
      const plane = await open();
      await plane.store.transaction({ writes: [{ key: "k", value: bytes("1") }] });
      expect(text((await plane.store.get("k"))?.value)).toBe("1");
      expect(plane.isConnected()).toBe(true);
      await plane.close();
      await expect(plane.store.get("k")).rejects.toMatchObject({ code: "CONTROL_PLANE_UNAVAILABLE" });
    }
    const nobody = { kind: "nats", urls: ["nats://127.0.0.1:1"], cluster: CLUSTER, name: "x", connectTimeoutMs: 300 } as const;
    await expect(openControlPlane(nobody)).rejects.toMatchObject({ reason: "unreachable" });
    const named = { kind: "nats", urls: [url], cluster: "a b", name: "x", credentials: authority.headCredentials("x") } as const;
    await expect(openControlPlane(named)).rejects.toThrow(RangeError);
  });
});

/** As the head gives it to its server. */
function ownCertificate(host: string): TlsTexts {
  const of = newAuthority({ nowMs: Date.now() });
  const { key, publicKey } = newNodeKey();
  const nodeId = "a".repeat(32) as NodeId;
  return { ca: of.ca, certificate: certifyNode(of, { nodeId, publicKey, hosts: [host], nowMs: Date.now() }), key };
}

/** nats-servers whose configuration lies in a folder of this name. */
function serversUnder(part: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [program = "", ...args] = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return program.endsWith("nats-server") && args.join(" ").includes(part) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
