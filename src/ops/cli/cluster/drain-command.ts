/**
 * `shoal drain NODE_ID`: a node of the cluster gets no new work, finishes its present work, and leaves in order.
 *
 * Asks the head through the node of this machine, then watches until the node is gone. Nothing depends on this command: stopping it stops
 * the watching, and the node still leaves.
 */
import type { DrainReason, NodeDrainHeader } from "../../../runtime/wire/cluster/cluster-messages.ts";
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import { connectToCluster } from "../../connection/cluster-connection.ts";
import { ADDRESS, type Command, defineCommand, UsageError } from "../command.ts";

const LOOK_EVERY_MS = 500;
const GONE = "it has left";

export const drainCommand: Command = defineCommand({
  name: "drain",
  summary: "let a node finish its work and leave the cluster",
  description: `The node gets no new tasks and actors. Its actors with restarts left are restarted on other nodes, at once;
it waits until everything else on it has ended and no program is connected to it, and leaves. What
runs there is told of it and of the deadline (\`getRuntimeContext().preemption\`). What must
not be lost has to be elsewhere by then: objects that only it has are made again by their tasks, or lost.
\`shoal status\` shows the ids of nodes; the first digits do.`,
  words: ["NODE_ID"],
  options: {
    reason: {
      valueName: "REASON",
      help: "preemption: the node is taken away (default); idle: only if nothing runs on it, or the command is refused",
    },
    "deadline-ms": { valueName: "MS", help: "leave after this time whatever runs then (default: wait as long as it takes)" },
    "no-wait": { help: "return at once; the node leaves when it has finished its work" },
    address: ADDRESS,
    json: { help: "print the result as JSON" },
  },
  run: async ({ options, words, terminal }) => {
    const { address, json } = options;
    const wanted: NodeDrainHeader = {
      node: nodeName(words[0] ?? ""),
      deadlineMs: deadline(options["deadline-ms"]),
      reason: reasonOf(options.reason),
    };
    const nodeId = await begin(wanted, address);
    if (options["no-wait"]) {
      terminal.print(
        json ? JSON.stringify({ nodeId, state: "draining" }) : `Node ${nodeId} gets no new work, and leaves when what it has has ended.`,
      );
      return;
    }
    if (!json) terminal.tell(`Node ${nodeId} gets no new work; waiting for what it has.`);
    const reason = await untilGone(nodeId, address);
    terminal.print(json ? JSON.stringify({ nodeId, state: "gone", reason }) : `Node ${nodeId} is gone: ${reason}.`);
  },
});

async function begin(wanted: NodeDrainHeader, address: string | undefined): Promise<string> {
  using cluster = await connectToCluster(address);
  return await cluster.ask(MESSAGE.NODE_DRAIN, wanted);
}

async function untilGone(nodeId: string, address: string | undefined): Promise<string> {
  let askedThrough: string | undefined;
  for (;;) {
    try {
      // A connection for each question: an open one is one of the programs that a node waits for.
      using cluster = await connectToCluster(address);
      askedThrough = cluster.node.nodeId;
      const { nodes, gone } = await cluster.ask(MESSAGE.CLUSTER_STATUS, undefined);
      const left = gone.find((node) => node.nodeId === nodeId);
      if (left !== undefined || nodes.every((node) => node.nodeId !== nodeId)) return left?.reason ?? GONE;
    } catch (error) {
      // The way to the head led through the very node, and there is no other on this machine.
      if (askedThrough === nodeId) return GONE;
      throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function nodeName(text: string): string {
  if (/^[0-9a-f]{4,32}$/.test(text)) return text;
  throw new UsageError(
    `Cannot run shoal drain: NODE_ID is the id of a node or its first digits, four at least, as \`shoal status\` shows it: received ${text}.`,
  );
}

function reasonOf(text: string | undefined): DrainReason {
  if (text === undefined || text === "preemption") return "preemption";
  if (text === "idle") return "idle";
  throw new UsageError(`Cannot run shoal drain: --reason is preemption or idle: received ${text}. See \`shoal drain --help\`.`);
}

function deadline(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new UsageError(`Cannot run shoal drain: --deadline-ms takes milliseconds: received ${text}. See \`shoal drain --help\`.`);
}
