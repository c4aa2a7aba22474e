/** A head of `shoal start` on NATS: its records outlive the head, the server under it, and a stop. */
import { once } from "node:events";
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { natsServerBinary } from "../../scripts/nats-server.mjs";
import { ownAddresses } from "../../src/runtime/os/network/reach.ts";
import { NatsServers, WITHOUT_NATS } from "../control-plane/nats-servers.ts";
import { mountMemory } from "../house/small-disk.ts";
import type { ProgramRun } from "../house/run-program.ts";
import { until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const {
  run,
  startHead,
  join: joinAgain,
  program,
  pidOf,
  processes,
  runFiles,
  environment,
} = useShoal(WITHOUT_NATS === undefined ? { SHOAL_NATS_BIN: natsServerBinary() } : {});

/** Counts in an actor of this name. One of an earlier cluster in this folder lasts until its node is known to have died, so a test takes a new name. */
const countOf = (actor: string): string => `
import { getActor, init, ready, remote, shutdown } from "shoal";
class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
}
await init({ address: "auto", namespace: "test" });
const counter = remote(Counter).options({ name: "${actor}", lifetime: "detached", getIfExists: true, numCpus: 0 }).remote();
await ready(counter);
const count = await (await getActor<Counter>("${actor}")).increment.remote();
await shutdown();
console.log(JSON.stringify(count));
`;
const COUNT = countOf("counter");

/** A program that puts values while the disk is full, and calls a function meanwhile. */
const WAITS_FOR_ROOM = (full: string): string => `
import { existsSync, writeFileSync } from "node:fs";
import { init, kvGet, kvPut, remote, shutdown } from "shoal";
const write = process.stderr.write.bind(process.stderr);
process.stderr.write = (text, ...rest) => {
  if (String(text).includes("The head has kept no changes for")) writeFileSync(${JSON.stringify(full)} + ".told", "");
  return write(text, ...rest);
};
await init({ address: "auto", namespace: "test" });
const addOne = remote((x) => x + 1);
await addOne.remote(1);
await kvPut("before", 1);
writeFileSync(${JSON.stringify(full)} + ".wanted", "");
while (!existsSync(${JSON.stringify(full)})) await new Promise((resolve) => setTimeout(resolve, 20));
const put = Promise.all(Array.from({ length: 8 }, (_, index) => kvPut("during/" + index, "x".repeat(900_000))));
const task = await addOne.remote(41);
const isPut = (await put).every(Boolean);
const read = (await kvGet("during/7")).length;
await shutdown();
console.log(JSON.stringify({ task, put: isPut, read }));
`;

/** Takes all that is left of a disk. */
function fill(file: string): void {
  const descriptor = openSync(file, "w");
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(1024 * 1024));
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
  } finally {
    closeSync(descriptor);
  }
}

async function killed(what: string): Promise<void> {
  const before = pidOf(what);
  process.kill(before, "SIGKILL");
  await until(() => ![0, before].includes(pidOf(what)), `another of ${what}`);
}

describe.skipIf(WITHOUT_NATS !== undefined)("a head on NATS", () => {
  test("actors outlive the death of the head, and of the server", async () => {
    expect(await startHead()).toMatchObject({ isContinued: false });
    expect(pidOf("the nats-server")).toBeGreaterThan(0);
    expect(await program(COUNT)).toBe(1);
    await killed("the head");
    expect(await program(COUNT)).toBe(2);
    await killed("the nats-server");
    expect(await program(COUNT)).toBe(3);
  });

  test("a NATS that runs already is used, with its token", async () => {
    const servers = await NatsServers.start({ token: "secret" });
    try {
      const url = String(servers.urls[0]);
      expect(await run("start", "--head", "--port", "0", "--nats-url", url)).toMatchObject({ exitCode: 1 });
      await startHead("--nats-url", url.replace("//", "//secret@"));
      expect(pidOf("the nats-server")).toBe(0);
      expect(await program(COUNT)).toBe(1);
      await killed("the head");
      expect(await program(COUNT)).toBe(2);
    } finally {
      await run("stop", "--force");
      await servers.close();
    }
  });

  test("while its disk is full, status and waiting programs say so, and all goes on once there is room", {
    timeout: 120_000,
  }, async (context) => {
    const disk = String(environment["XDG_STATE_HOME"]);
    mkdirSync(disk, { recursive: true });
    if (!mountMemory(disk, "160m")) return context.skip("no right to mount a small disk here");
    const full = join(disk, "..", "full");
    const filler = join(disk, "filler");
    try {
      await startHead();
      const waiting = program(WAITS_FOR_ROOM(full));
      await until(() => existsSync(`${full}.wanted`), "the program to have put its first value");
      fill(filler);
      writeFileSync(full, "");
      await until(async () => (await run("status")).stdout.includes("The head has kept no changes for"), "the status to say so");
      const { stdout } = await run("status");
      expect(stdout).toMatch(
        /^The head has kept no changes for \d+ s, as the disk of .* is full: \d+ MB are free and 64 MB are needed: new actors/m,
      );
      await until(() => existsSync(`${full}.told`), "the program to have been told");
      rmSync(filler);
      expect(await waiting).toEqual({ task: 42, put: true, read: "x".repeat(900_000).length });
      expect((await run("status")).stdout).not.toContain("kept no changes");
    } finally {
      await run("stop", "--force");
      execFileSync("umount", [disk]);
    }
  });

  test("nothing outlives a stop, and the token is the same afterwards", async () => {
    const first = await startHead();
    expect(await run("stop")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(processes()).toEqual([]);
    expect(existsSync(join(String(environment["XDG_STATE_HOME"]), "shoal", "heads", "default", "nats", "nats.pid"))).toBe(false);
    const second = await startHead();
    expect(second.joinToken).toBe(first.joinToken);
    expect(second.isContinued).toBe(true);
    await joinAgain(second);
  });

  const [ownAddress] = ownAddresses();
  test.skipIf(ownAddress === undefined)("a cluster whose token was revoked starts again, and its own node comes back", async () => {
    const address = ["--host", String(ownAddress)] as const;
    const first = await startHead(...address);
    const { tokens } = JSON.parse((await run("token", "list", "--json")).stdout) as { tokens: { id: string }[] };
    for (const { id } of tokens) expect(await run("token", "revoke", id)).toMatchObject({ exitCode: 0 });
    await killed("the node");
    await until(async () => (await run("status")).exitCode === 0, "the node to be back");
    expect(await program(countOf("counter of the revoked"))).toBe(1);
    const refused = await run("start", "--address", first.address, "--token", first.joinToken);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("the join token is refused: it was revoked")]);
    expect(await run("stop")).toMatchObject({ exitCode: 0, stderr: "" });
    const again = await run("start", "--head", "--port", "0", "--num-cpus", "1", ...address);
    expect([again.exitCode, again.stderr]).toEqual([0, ""]);
    expect(again.stdout).toContain("shoal token create");
    expect(again.stdout).not.toContain("--token SHOAL1-");
    expect(JSON.parse((await run("token", "list", "--json")).stdout)).toMatchObject({ tokens: [{ id: tokens[0]?.id }] });
  });

  test("of two starts at one moment one succeeds, on a fresh machine and on one where the cluster has been", {
    timeout: 120_000,
  }, async () => {
    for (let round = 0; round < 2; round += 1) {
      const start = (): Promise<ProgramRun> => run("start", "--head", "--port", "0", "--num-cpus", "1");
      const both = (await Promise.all([start(), start()])).sort((a, b) => Number(a.exitCode) - Number(b.exitCode));
      expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 1]);
      expect(both[1]?.stderr).toMatch(/^shoal: Cannot start a head.* the name "default"/);
      expect(await run("stop")).toMatchObject({ exitCode: 0, stderr: "" });
    }
  });

  test("a start that waits ends soon after it is told to, and says so", async () => {
    // A NATS that takes connections and says nothing.
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    try {
      const { port } = silent.address() as AddressInfo;
      const starting = run("start", "--head", "--port", "0", "--nats-url", `nats://127.0.0.1:${port}`);
      await until(() => runFiles().length > 0, "the supervisor to begin");
      const startedAt = performance.now();
      expect(await run("stop")).toMatchObject({ exitCode: 0, stderr: "", stdout: expect.not.stringContaining("by force") as string });
      const { exitCode, stderr } = await starting;
      expect(performance.now() - startedAt).toBeLessThan(8_000);
      expect([exitCode, stderr]).toEqual([1, "shoal: Cannot start Shoal: it was told to end while the head began.\n"]);
    } finally {
      silent.close();
    }
  });

  test("a stop by force leaves nothing either", async () => {
    await startHead();
    const pid = pidOf("the nats-server");
    expect(pid).toBeGreaterThan(0);
    await run("stop", "--force");
    await until(() => processes().length === 0, "all to end");
  });
});
