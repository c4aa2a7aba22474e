/**
 * `shoal up FILE` and `shoal down FILE`: a cluster that a file describes, begun and ended on this machine.
 *
 * `up` starts the head and its autoscaler; on a cluster that runs it gives the autoscaler the new file. `down` ends the launched nodes, then
 * the head. A file that cannot be taken starts and changes nothing.
 */
import { askAutoscaler } from "../../autoscaler/head-client.ts";
import { connectToCluster } from "../../connection/cluster-connection.ts";
import { ShoalError } from "../../../runtime/base/errors.ts";
import { formatAddress } from "../../../runtime/os/network/network-address.ts";
import { readRunFiles, type RunFile } from "../../../runtime/os/files/clusters/run-file.ts";
import type { Terminal } from "../../../runtime/os/terminal.ts";
import { type ClusterFileRead, readClusterFile } from "./cluster-file.ts";
import { type Command, defineCommand, UsageError } from "../command.ts";
import { HEAD_OPTIONS, startCluster } from "./start-command.ts";
import { endRuns } from "./stop-command.ts";

const upCommand: Command = defineCommand({
  name: "up",
  summary: "start the cluster of a file, whose nodes come and go with the work",
  description: `Starts the head of the cluster that FILE describes on this machine, and an autoscaler that launches and ends
nodes. Where the cluster runs already, its autoscaler takes the new FILE; the head stays as it is.

  shoal up cluster.yaml
  shoal down cluster.yaml`,
  words: ["FILE"],
  options: HEAD_OPTIONS,
  run: async ({ options, words, terminal }) => {
    const [file = ""] = words;
    const read = await readClusterFile("up", file);
    const running = runOf(read);
    if (running === undefined)
      return await startCluster(
        {
          ...options,
          head: true,
          address: undefined,
          token: undefined,
          "token-file": undefined,
          "autoscaling-config": file,
        },
        terminal,
      );
    await reconfigure(running, read, { terminal, isJson: options.json });
  },
});

const downCommand: Command = defineCommand({
  name: "down",
  summary: "end the cluster of a file: its launched nodes, then its head",
  description: `Ends all nodes that the autoscaler of the cluster has launched, and then the head that \`shoal up\` started on
this machine. Programs that are connected fail.`,
  words: ["FILE"],
  options: { json: { help: "print the ended processes as JSON" } },
  run: async ({ options, words, terminal }) => {
    const read = await readClusterFile("down", words[0] ?? "");
    const running = runOf(read);
    if (running === undefined) {
      const reason = `no head of the name ${read.config.clusterName} runs on this machine`;
      throw new ShoalError(`Cannot end the cluster: ${reason}.`, {
        reason,
        hint: "`shoal status` shows what runs; `shoal up FILE` starts it.",
      });
    }
    const [stopped] = await endRuns([running]);
    if (options.json) terminal.print(JSON.stringify({ stopped: [stopped] }));
    else terminal.print(`Ended the cluster ${read.config.clusterName} at ${formatAddress(running.address)} and its nodes.`);
  },
});

export const clusterCommands: readonly Command[] = [upCommand, downCommand];

function runOf({ config }: ClusterFileRead): RunFile | undefined {
  return readRunFiles().running.find(({ role, name }) => role === "head" && name === config.clusterName);
}

async function reconfigure(
  { address }: RunFile,
  { config, options }: ClusterFileRead,
  { terminal, isJson }: { terminal: Terminal; isJson: boolean },
): Promise<void> {
  using cluster = await connectToCluster(address);
  let version: number;
  try {
    version = await askAutoscaler(cluster, "configure", { text: options.configText, ifNone: false });
  } catch (error) {
    throw new UsageError(
      `Cannot run shoal up: the cluster ${config.clusterName} at ${formatAddress(address)} takes no cluster file: received ${options.source}: ${(error as Error).message} End it with \`shoal stop\` first where it was started without one.`,
    );
  }
  if (isJson) terminal.print(JSON.stringify({ address, configVersion: version }));
  else terminal.print(`The cluster ${config.clusterName} at ${formatAddress(address)} uses this file from now on.`);
}
