/**
 * Reads the options of `shoal start` that describe a node, and checks them before anything is started.
 *
 * Reads numbers, sizes, labels and resources as people write them on a command line. The node's own start decides the defaults. An error
 * shows the received value and a correct one.
 */
import { fileUrlOf } from "../../../runtime/os/files/file-url.ts";
import { isFile } from "../../../runtime/os/files/paths.ts";
import type { NodeOptions } from "../../providers/local-processes.ts";
import { type OptionValues, UsageError } from "../command.ts";

type NodeOptionName =
  | "num-cpus"
  | "num-gpus"
  | "resources"
  | "labels"
  | "object-store-memory"
  | "spill-directory"
  | "waiting-processes-per-cpu"
  | "extension";

export const NODE_OPTIONS: Readonly<Record<NodeOptionName, { valueName: string; help: string }>> = {
  "num-cpus": { valueName: "N", help: "CPUs that the node offers (default: those of this machine)" },
  "num-gpus": { valueName: "N", help: "GPUs that it offers (default: those that are found)" },
  resources: { valueName: "JSON", help: "further resources: '{\"license\": 2}'" },
  labels: { valueName: "K=V,...", help: "labels of the node: zone=a,disk=ssd" },
  "object-store-memory": {
    valueName: "BYTES",
    help: "shared memory for objects: 2000000000, 500MB or 2GB (default: 30 % of memory)",
  },
  "spill-directory": {
    valueName: "DIR",
    help: "where objects go when that is full (default: the folder for temporary files)",
  },
  "waiting-processes-per-cpu": {
    valueName: "N",
    help: "so many waiting tasks per CPU keep a process of their own; further ones share (default: 2)",
  },
  extension: {
    valueName: "FILE",
    help: "a library's extension of Shoal's own processes; several with commas, and the same on every machine",
  },
};

/** @throws UsageError */
export function nodeOptions(values: OptionValues<typeof NODE_OPTIONS>): NodeOptions {
  return {
    numCpus: amount("num-cpus", values["num-cpus"]),
    numGpus: amount("num-gpus", values["num-gpus"]),
    resources: resources(values.resources),
    labels: labels(values.labels),
    objectStoreMemoryBytes: bytes("object-store-memory", values["object-store-memory"]),
    spillDirectory: values["spill-directory"],
    waitingProcessesPerCpu: wholeNumber("waiting-processes-per-cpu", values["waiting-processes-per-cpu"]),
    extensions: extensions(values.extension),
  };
}

function extensions(text: string | undefined): string[] | undefined {
  return text?.split(",").map((path) => {
    if (!isFile(path)) throw misused("extension", "takes the paths of files", path);
    return fileUrlOf(path);
  });
}

function amount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw misused(name, "takes a number of 0 or more", text);
  return value;
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,6}$/.test(text)) throw misused(name, "takes a whole number of 0 or more", text);
  return Number(text);
}

function resources(text: string | undefined): Record<string, number> | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isRecord || Object.values(value as object).some((given) => !(typeof given === "number" && given >= 0 && Number.isFinite(given))))
    throw misused("resources", "takes a JSON object of names and numbers, such as '{\"license\": 2}'", text);
  for (const [name, instead] of [
    ["CPU", "--num-cpus"],
    ["GPU", "--num-gpus"],
  ] as const)
    if (name in (value as object)) throw misused("resources", `has no ${name}: that is ${instead}`, text);
  return value as Record<string, number>;
}

function labels(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) return undefined;
  const pairs = text.split(",").map((pair) => {
    const [name = "", ...value] = pair.split("=");
    if (name.trim() === "" || value.length === 0) throw misused("labels", "takes names and values, such as zone=a,disk=ssd", text);
    return [name.trim(), value.join("=").trim()] as const;
  });
  return Object.fromEntries(pairs);
}

const UNITS: Readonly<Record<string, number>> = { "": 1, KB: 1e3, MB: 1e6, GB: 1e9, KIB: 1024, MIB: 1024 ** 2, GIB: 1024 ** 3 };

export function bytes(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text) ?? [];
  const factor = UNITS[unit.toUpperCase()];
  if (number === undefined || factor === undefined || Number(number) <= 0)
    throw misused(name, "takes a size, such as 2000000000, 500MB or 2GiB", text);
  return Math.floor(Number(number) * factor);
}

export function port(text: string | undefined, byDefault: number, name = "port"): number {
  if (text === undefined) return byDefault;
  const value = Number(text);
  if (!/^\d{1,5}$/.test(text) || value > 65_535) throw misused(name, "takes a number from 0 to 65535", text);
  return value;
}

export function misused(name: string, rule: string, received: string): UsageError {
  return new UsageError(`Cannot run shoal start: --${name} ${rule}: received ${received}. See \`shoal start --help\`.`);
}
