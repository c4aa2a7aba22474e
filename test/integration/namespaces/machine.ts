/**
 * A machine in a network of namespaces: a head, a node, or a driver's program, as its argument says. Run in the network namespace of that
 * machine; reports to the world (`world.ts`) by lines of JSON, and ends when its standard input does.
 */
import { appendFileSync } from "node:fs";
import { init, ready, remote } from "shoal";
import { nowMs } from "../../../chaos/clock.ts";
import { Witness } from "../../../chaos/witness.ts";
import { startHead, startNode } from "../../../src/ops/providers/local-processes.ts";

export type Machine =
  | { readonly kind: "head"; readonly address: string; readonly directory: string }
  | { readonly kind: "node"; readonly headAddress: string; readonly joinToken: string; readonly host: string }
  | {
      readonly kind: "driver";
      readonly address: string;
      readonly actors: readonly Called[];
      readonly logs: string;
      readonly answers: string;
    };

/** An actor that the driver calls again and again. */
interface Called {
  readonly name: string;
  /** Where it lives while it can. */
  readonly nodeId: string;
  /** Calls of this actor are not tried again. */
  readonly once?: boolean;
}

const CALL_EVERY_MS = 20;
const CALL_LASTS_MS = 100;
/** Makes calls to one actor, one after another. */
const CHAINS = 2;

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
  const { address, actors, logs, answers } = machine;
  await init({ address, logToDriver: false, runtimeEnv: { workingDir: logs } });
  const made = actors.map(({ name, nodeId, once }) => {
    const options = { numCpus: 0, maxRestarts: -1, maxTaskRetries: once === true ? 0 : -1, schedulingStrategy: { nodeId, soft: true } };
    return { name, once, witness: remote(Witness, options).remote(logs, name) };
  });
  await Promise.all(made.map(({ witness }) => ready(witness)));
  tell({});
  process.stdin.on("end", () => process.exit(0));
  const callOn = async ({ name, witness, once }: (typeof made)[number], first: number): Promise<void> => {
    for (let call = first; ; call += CHAINS) {
      const beginMs = nowMs();
      const called = once === true ? witness.longCall.remote(call, CALL_LASTS_MS) : witness.call.remote(call);
      const error = await called.then(
        () => undefined,
        (failure: Error) => `${failure.name}: ${failure.message}`,
      );
      appendFileSync(answers, `${JSON.stringify({ actor: name, call, beginMs, endMs: nowMs(), error })}\n`);
      await new Promise((resolve) => setTimeout(resolve, CALL_EVERY_MS));
    }
  };
  // An actor whose calls may run once has a call under way at any time.
  await Promise.all(made.flatMap((each) => (each.once === true ? [callOn(each, 0), callOn(each, 1)] : [callOn(each, 0)])));
}

function tell(fact: unknown): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`);
}
process.exit(0);
