/** A head of `shoal start` on NATS: what it knows outlives it, the server under it, and a stop. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { natsServerBinary } from "../../scripts/nats-server.mjs";
import { NatsServers, WITHOUT_NATS } from "../control-plane/nats-servers.ts";
import { until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const {
  run,
  startHead,
  join: joinAgain,
  program,
  pidOf,
  processes,
  environment,
} = useShoal(WITHOUT_NATS === undefined ? { SHOAL_NATS_BIN: natsServerBinary() } : {});

const COUNT = `
import { getActor, init, ready, remote, shutdown } from "shoal";
class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
}
await init({ address: "auto", namespace: "test" });
const counter = remote(Counter).options({ name: "counter", lifetime: "detached", getIfExists: true, numCpus: 0 }).remote();
await ready(counter);
const count = await (await getActor<Counter>("counter")).increment.remote();
await shutdown();
console.log(JSON.stringify(count));
`;

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

  test("a stop by force leaves nothing either", async () => {
    await startHead();
    const pid = pidOf("the nats-server");
    expect(pid).toBeGreaterThan(0);
    await run("stop", "--force");
    await until(() => processes().length === 0, "all to end");
  });
});
