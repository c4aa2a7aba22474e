/**
 * A network that is really cut: machines in separate network namespaces, with TLS between them, and a bridge that stops passing packets.
 *
 * The cuts of `TestCluster` are made in Shoal's own processes; here the kernel loses the packets. Skipped where the system does not let its
 * user have namespaces.
 */
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { Directions } from "./namespaces/directions.ts";
import type { Seen } from "./namespaces/world.ts";

const UNSHARE = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
const problem = findProblem();

function findProblem(): string | undefined {
  const probe =
    "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link add name bridge0 type bridge && ip netns add n && ip link add name v0 type veth peer name v1 netns n";
  const { status, stderr, error } = spawnSync("unshare", [...UNSHARE, "sh", "-ec", probe], { encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

const why = problem === undefined ? "" : `, which cannot be made here: ${problem}`;

const execute = promisify(execFile);

/**
 * Returns the observations that a world (`namespaces/`) prints. Two worlds know nothing of each other and mostly wait for their cuts to
 * last, so they run side by side.
 */
async function seenIn(script: string): Promise<unknown> {
  const world = fileURLToPath(new URL(`namespaces/${script}`, import.meta.url));
  const args = [...UNSHARE, process.execPath, "--disable-warning=ExperimentalWarning", world];
  const { stdout } = await execute("unshare", args, { encoding: "utf8", timeout: 170_000 });
  return JSON.parse(stdout);
}

describe.concurrent("cuts by the kernel", () => {
  test.skipIf(problem !== undefined)(`a cut by the kernel${why}`, { timeout: 180_000 }, async () => {
    const seen = (await seenIn("world.ts")) as Seen;
    expect(seen).toMatchObject({ livesAfterShortCut: 1, twoLives: [], left: [] });
    // Calls go from process to process.
    expect(seen.answeredWithoutHead).toBeGreaterThan(3);
    // Ten seconds of silence are death.
    expect(seen.backMs).toBeGreaterThan(8000);
    expect(seen.backMs).toBeLessThan(Infinity);
    expect(seen.ended).not.toBe("not at all");
  });

  test.skipIf(problem !== undefined)(
    `cuts by the kernel between two machines, and in one direction${why}`,
    { timeout: 180_000 },
    async () => {
      const seen = (await seenIn("directions.ts")) as Directions;
      const lives = { "both-b": 1, "once-b": 1, "out-c": 1, "in-d": 1, "once-d": 1, "driver-e": 1 };
      expect(seen).toMatchObject({
        oneWay: { there: false, back: true },
        livesAfterShortCuts: lives,
        answeredBehindCut: { "both-b": 0, "once-b": 0, "out-c": 0 },
        // A node that the head does not hear, or that does not hear the head, is dead for the head, however well the others hear it. A node
        // that is only cut off from a caller lives.
        livesAfterLongCuts: { "both-b": 2, "once-b": 2, "out-c": 2, "in-d": 2, "once-d": 2, "driver-e": 1 },
        twoLives: [],
        wrongCalls: [],
        silent: [],
        left: [],
      });
      expect(seen.ended).not.toContain("not at all");
      for (const actor of ["both-b", "out-c", "in-d", "driver-e"]) expect(seen.errors[actor]).toEqual([]);
      for (const actor of ["once-b", "once-d"]) {
        expect(seen.errors[actor]?.length).toBeGreaterThan(0);
        for (const error of seen.errors[actor] ?? [])
          expect(error).toMatch(/^ActorUnavailableError: .*its node died: it has been silent for \d+ ms/);
      }
    },
  );
});
