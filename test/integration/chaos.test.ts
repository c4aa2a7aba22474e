/**
 * A short run of `npm run chaos`, with a seed: faults of a cluster's processes and network, and what must hold all the while.
 */
import { expect, test } from "vitest";
import { runChaos } from "../../chaos/run.ts";

test.skipIf(process.platform !== "linux")("eight faults of a cluster", { timeout: 180_000 }, async () => {
  const lines: string[] = [];
  const { problems } = await runChaos({
    faults: 8,
    seed: 7,
    kinds: ["kill worker", "stop worker", "kill node", "stop node", "stop head", "cut node", "cut halves", "cut one way"],
    pauseMaxMs: 2000,
    print: (line) => void lines.push(line),
  });
  if (problems.length > 0) expect.fail(lines.join("\n"));
});
