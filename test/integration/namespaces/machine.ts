/**
 * One machine of a network of namespaces: a head, a node, or a driver's program, as its argument says. Run in the network namespace of that machine; it tells the world (`world.ts`)
 * by lines of JSON, and ends when its standard input does.
 */
import { appendFileSync } from "node:fs";
import { init, ready, remote } from "shoal";
import { nowMs } from "../../../chaos/clock.ts";
import { Witness } from "../../../chaos/witness.ts";
import { startHead, startNode } from "../../../src/providers/local-processes.ts";

export type Machine =
  | { readonly kind: "head"; readonly address: string; readonly directory: string }
  | { readonly kind: "node"; readonly headAddress: string; readonly joinToken: string; readonly host: string }
  | { readonly kind: "driver"; readonly address: string; readonly nodeId: string; readonly logs: string; readonly answers: string };

const CALL_EVERY_MS = 20;

const machine = JSON.parse(process.argv[2] ?? "") as Machine;
const onLine = (line: string): void => void process.stderr.write(`${machine.kind}: ${line}\n`);
// Without a reader its end is not noticed.
process.stdin.resume();

if (machine.kind === "head") {
  const { address, directory } = machine;
  const head = await startHead({ address, directory, onLine });
  tell({ address: head.address, joinToken: head.joinToken });
  process.stdin.on("end", () => head.kill("SIGTERM"));
  await head.ended;
} else if (machine.kind === "node") {
  const { headAddress, joinToken, host } = machine;
  const node = await startNode({ headAddress, joinToken, listenAddress: `tcp://${host}:0`, numCpus: 1, onLine });
  tell({ nodeId: node.nodeId });
  process.stdin.on("end", () => node.kill("SIGTERM"));
  tell({ ended: await node.ended });
} else {
  const { address, nodeId, logs, answers } = machine;
  await init({ address, logToDriver: false, runtimeEnv: { workingDir: logs } });
  const there = { schedulingStrategy: { nodeId, soft: true } };
  const witness = remote(Witness, { ...there, numCpus: 0, maxRestarts: -1, maxTaskRetries: -1 }).remote(logs, "actor-0");
  await ready(witness);
  tell({});
  process.stdin.on("end", () => process.exit(0));
  for (let call = 0; ; call += 1) {
    const beginMs = nowMs();
    await witness.call.remote(call);
    appendFileSync(answers, `${JSON.stringify({ beginMs, endMs: nowMs() })}\n`);
    await new Promise((resolve) => setTimeout(resolve, CALL_EVERY_MS));
  }
}

function tell(fact: unknown): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`);
}
process.exit(0);
