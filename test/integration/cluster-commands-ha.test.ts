/** Heads of `shoal start --head --ha` that take over from each other, as if each were on another machine; and refusals. */
import { expect, test } from "vitest";
import { NatsServers } from "../control-plane/nats-servers.ts";
import { describeNats } from "../control-plane/planes.ts";
import { until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const { run, startHead, join, program, runElsewhere, runFiles } = useShoal();

const COUNT = `
import { getActor, init, ready, remote, shutdown } from "shoal";
class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
}
await init({ address: process.env["SHOAL_TEST_ADDRESS"], namespace: "test" });
const counter = remote(Counter).options({
  name: "counter", lifetime: "detached", getIfExists: true, numCpus: 0, schedulingStrategy: { nodeId: process.env["SHOAL_TEST_NODE"] ?? "" },
}).remote();
await ready(counter);
const count = await (await getActor<Counter>("counter")).increment.remote();
await shutdown();
console.log(JSON.stringify(count));
`;

describeNats("heads that take over from each other", () => {
  test("when all of a head's machine is gone the others go on, and who joins at a head that stands by comes to the leader", {
    timeout: 90_000,
  }, async () => {
    const servers = await NatsServers.start({ token: "secret" });
    try {
      const url = String(servers.urls[0]);
      const ha = ["--ha", "--nats-url", url.replace("//", "//secret@")];
      const first = await startHead(...ha);
      const second = await startHead(...ha);
      expect(second.joinToken).toBe(first.joinToken);
      expect(second.heads).toEqual([second.address, first.address]);
      const third = await join(second);

      const env = { SHOAL_TEST_ADDRESS: second.address, SHOAL_TEST_NODE: third.nodeId };
      expect(await program(COUNT, env)).toBe(1);
      const [supervisor] = runFiles().filter(({ role, address }) => role === "head" && address === first.address);
      process.kill(supervisor?.pid ?? 0, "SIGKILL");
      for (const { pid } of supervisor?.processes ?? []) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // Without its supervisor it ends by itself, and has.
        }
      }
      expect(await program(COUNT, env)).toBe(2);
      const shown = async (): Promise<string> => (await run("status", "--address", second.address)).stdout;
      await until(
        async () => (await shown()).includes("its address refuses connections") || (await shown()).includes("no link to the head"),
        "the lost node is dead",
      );
      expect(await shown()).toContain(`${second.address.replace("tcp://", "")}   leads`);
      expect(await shown()).toContain(third.nodeId.slice(0, 12));

      const alone = await run("start", "--head", "--port", "0", "--name", "default", "--nats-url", ha[2] as string);
      expect([alone.exitCode, alone.stderr]).toEqual([
        1,
        expect.stringContaining('one of the name "default" runs on this machine already'),
      ]);
    } finally {
      await run("stop", "--force");
      await servers.close();
    }
  });

  test("a head that knows of no other is refused beside one, and the other way round", { timeout: 60_000 }, async () => {
    const servers = await NatsServers.start();
    try {
      const nats = ["--nats-url", String(servers.urls[0])];
      const head = await startHead(...nats);
      for (const more of [[], ["--ha"]]) {
        const refused = await runElsewhere("start", "--head", "--port", "0", ...nats, ...more);
        expect(refused).toMatchObject({ exitCode: 1 });
        expect(refused.stderr).toContain(`one at ${head.address.replace("tcp://", "")} keeps its tables in the same NATS`);
      }
      expect((await run("status")).stdout).toContain("alive");
    } finally {
      await run("stop", "--force");
      await servers.close();
    }
  });
});

test.each([
  [["--ha"], "--ha needs --nats-url"],
  [["--ha", "--no-nats"], "--ha needs --nats-url"],
  [["--ha", "--nats-url", "tls://10.0.0.1:4222"], "anybody could read what is in the NATS"],
  [["--ha", "--nats-url", "nats://secret@10.0.0.1:4222"], "is not encrypted"],
  [["--nats-ca", "/nowhere"], "--nats-ca is for --nats-url"],
])("%j is refused before anything is started", async (options, reason) => {
  const { exitCode, stderr } = await run("start", "--head", ...options);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)]);
});
