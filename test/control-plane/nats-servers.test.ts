/** Servers of tests leave no process that kills by a number after another process has got the number, and the servers' end is noticed. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { NatsServers, until } from "./nats-servers.ts";
import { describeNats } from "./planes.ts";

/** Processes that have the text on their command lines. */
function processesWith(text: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text) ? [Number(name)] : [];
    } catch {
      // The process has ended meanwhile.
      return [];
    }
  });
}

describeNats("a server of a test", () => {
  test.skipIf(!existsSync("/proc/self/cmdline"))(
    "has nobody who would kill it when it is dead, and ends for all when somebody else kills it",
    async () => {
      await using servers = await NatsServers.start();
      const running = processesWith(servers.folder);
      expect(running.length).toBeGreaterThan(1);
      await servers.kill(0);
      await until(() => processesWith(servers.folder).length === 0, "all beside it have ended");
      await servers.restart(0);
      for (const pid of processesWith(servers.folder)) {
        if (readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("nats")) process.kill(pid, "SIGKILL");
      }
      await until(() => processesWith(servers.folder).length === 0, "all beside it have ended");
      await servers.kill(0);
      await servers.restart(0);
    },
  );
});
