/**
 * A short run of `npm run chaos`, with a seed: faults of a cluster's processes and network, and what must hold all the while.
 *
 * Where there is no nats-server the head is only stopped: one that dies would take its tables with it.
 */
import { expect, test } from "vitest";
import type { FaultKind } from "../../chaos/faults.ts";
import { runChaos } from "../../chaos/run.ts";
import { WITHOUT_NATS } from "../control-plane/nats-servers.ts";

const KINDS: readonly FaultKind[] = [
  "kill worker",
  "kill node",
  "stop node",
  "fill store",
  "stop head",
  "cut node",
  "cut pair",
  "cut one way",
];
const KINDS_OF_NATS: readonly FaultKind[] = ["kill head", "kill NATS", "stop NATS"];

test.skipIf(process.platform !== "linux")("faults of a cluster, one of each kind", { timeout: 180_000 }, async () => {
  const lines: string[] = [];
  const kinds = WITHOUT_NATS === undefined ? [...KINDS, ...KINDS_OF_NATS].filter((kind) => kind !== "fill store") : KINDS;
  const { problems } = await runChaos({
    faults: kinds.length,
    seed: 7,
    kinds,
    pauseMaxMs: 1500,
    nats: WITHOUT_NATS === undefined ? 1 : 0,
    print: (line) => void lines.push(line),
  });
  if (problems.length > 0) expect.fail(lines.join("\n"));
});
