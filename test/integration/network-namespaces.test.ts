/**
 * A network that is really cut: machines in network namespaces of their own, with TLS between them, and a bridge that stops passing on what they say.
 *
 * The cuts of `TestCluster` are made in Shoal's own processes; here it is the kernel that loses what is sent. Skipped where the system does not let its user have namespaces.
 */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import type { Seen } from "./namespaces/world.ts";

const UNSHARE = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
const problem = findProblem();

function findProblem(): string | undefined {
  const probe =
    "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link add name bridge0 type bridge && ip netns add n && ip link add name v0 type veth peer name v1 netns n";
  const { status, stderr, error } = spawnSync("unshare", [...UNSHARE, "sh", "-ec", probe], { encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

const title = problem === undefined ? "a cut by the kernel" : `a cut by the kernel, which cannot be made here: ${problem}`;

test.skipIf(problem !== undefined)(title, { timeout: 180_000 }, () => {
  const world = new URL("namespaces/world.ts", import.meta.url).pathname;
  const args = [...UNSHARE, process.execPath, "--disable-warning=ExperimentalWarning", world];
  const { stdout, stderr, status } = spawnSync("unshare", args, { encoding: "utf8", timeout: 170_000 });
  if (status !== 0) expect.fail(stderr);
  const seen = JSON.parse(stdout) as Seen;
  expect(seen).toMatchObject({ livesAfterShortCut: 1, left: [] });
  // Who is cut off is called by nobody.
  expect(seen.twoLives.filter((text) => !text.includes("began 0 calls"))).toEqual([]);
  // Calls go from process to process.
  expect(seen.worstWithoutHeadMs).toBeLessThan(1000);
  // Ten seconds of silence are death.
  expect(seen.backMs).toBeGreaterThan(8000);
  expect(seen.backMs).toBeLessThan(25_000);
  expect(seen.ended).not.toBe("not at all");
});
