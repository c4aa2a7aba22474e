/**
 * The batch job of one node: the options of `sbatch`, and the script.
 *
 * The token is in a file of mode 0600 that the script reads into `SHOAL_TOKEN` and removes, so that neither a command line nor the job's
 * script has it. The script becomes `shoal start`, so the job's end is the node's. Pure.
 */
import type { SetupConfig } from "../../config/cluster-config.ts";
import type { LaunchRequest } from "../../provider.ts";
import { nodeArguments } from "../node-arguments.ts";
import { quoted } from "../shell-words.ts";
import { MIB_BYTES } from "./limits.ts";

/** `node_config` of a type, as the table of keys has checked it. */
interface SlurmNodeConfig {
  readonly partition?: string;
  readonly account?: string;
  readonly qos?: string;
  readonly time?: string;
  readonly constraint?: string;
  /** Further options of `sbatch`, such as `--exclusive`. */
  readonly sbatch_options?: readonly string[];
}

const NAMED = ["partition", "account", "qos", "time", "constraint"] as const;

/** The comment by which the cluster's jobs are found. */
export function commentOf(clusterName: string, type: string): string {
  return `shoal:${clusterName}:${type}`;
}

export function sbatchOptions({ instanceId, type, resources, nodeConfig }: LaunchRequest, clusterName: string, logs: string): string[] {
  const { CPU = 0, GPU = 0, memory } = resources;
  const given = nodeConfig as SlurmNodeConfig;
  return [
    "--parsable",
    `--job-name=${instanceId}`,
    `--comment=${commentOf(clusterName, type)}`,
    "--nodes=1",
    "--ntasks=1",
    `--cpus-per-task=${Math.max(1, Math.ceil(CPU))}`,
    ...(GPU > 0 ? [`--gres=gpu:${Math.ceil(GPU)}`] : []),
    ...(memory === undefined ? [] : [`--mem=${Math.ceil(memory / MIB_BYTES)}M`]),
    // A job that begins anew would find no token.
    "--no-requeue",
    `--output=${logs}/%x.log`,
    ...NAMED.flatMap((name) => (given[name] === undefined ? [] : [`--${name}=${given[name]}`])),
    ...(given.sbatch_options ?? []),
  ];
}

export function jobScript({ command, env, ...request }: LaunchRequest, tokenFile: string, setup: SetupConfig): string {
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}`);
  const words = [...command, ...nodeArguments(request)];
  return [
    "#!/bin/bash -l",
    "set -e",
    ...variables,
    ...setup.initializationCommands,
    ...setup.setupCommands,
    `SHOAL_TOKEN=$(cat ${quoted(tokenFile)})`,
    `rm -f ${quoted(tokenFile)}`,
    "export SHOAL_TOKEN",
    `exec ${words.map(quoted).join(" ")}`,
    "",
  ].join("\n");
}
