/**
 * The accelerators of this machine, found without starting a process: a look at one environment variable and one folder of the NVIDIA driver.
 *
 * Tasks get the ids in `CUDA_VISIBLE_DEVICES` if it is set, else numbers from 0. Called once by the code that starts a node.
 */
import { readdirSync, readFileSync } from "node:fs";

const VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES";
const DRIVER_FOLDER = "/proc/driver/nvidia/gpus";

interface FoundGpus {
  readonly ids: readonly string[];
  /** Such as `H200` or `RTX-4090`; undefined where it is not known. */
  readonly type: string | undefined;
}

export function findGpus(options: { visibleDevices?: string | undefined; driverFolder?: string } = {}): FoundGpus {
  const { visibleDevices = process.env[VISIBLE_DEVICES], driverFolder = DRIVER_FOLDER } = options;
  const folders = foldersOf(driverFolder);
  const ids = visibleDevices === undefined ? folders.map((_folder, index) => String(index)) : visibleIds(visibleDevices);
  return { ids, type: ids.length === 0 || folders.length === 0 ? undefined : typeOf(`${driverFolder}/${folders[0]}/information`) };
}

/** The value with which this process was started, read at the first change. */
let given: { value: string | undefined } | undefined;

/** Sets the devices that CUDA shows to this process; undefined restores the original value, as in Ray. */
export function setVisibleGpus(ids: readonly string[] | undefined): void {
  given ??= { value: process.env[VISIBLE_DEVICES] };
  const value = ids === undefined ? given.value : ids.join(",");
  if (value === undefined) delete process.env[VISIBLE_DEVICES];
  else process.env[VISIBLE_DEVICES] = value;
}

/** Parses as CUDA does: the list ends at the first invalid entry. */
function visibleIds(text: string): string[] {
  const ids: string[] = [];
  for (const part of text.split(",").map((id) => id.trim())) {
    if (part === "" || part === "-1" || part === "NoDevFiles") break;
    ids.push(part);
  }
  return ids;
}

function foldersOf(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return []; // no NVIDIA driver
  }
}

function typeOf(file: string): string | undefined {
  try {
    const model = /^Model:\s*(.+)$/m.exec(readFileSync(file, "utf8"))?.[1];
    return model === undefined ? undefined : acceleratorType(model);
  } catch {
    return undefined;
  }
}

/** `NVIDIA A100-SXM4-80GB` is an `A100`, `NVIDIA GeForce RTX 4090` an `RTX-4090`. */
export function acceleratorType(model: string): string {
  const [first = "", second] = model
    .replace(/\b(NVIDIA|Tesla|GeForce|Quadro)\b/g, " ")
    .trim()
    .split(/\s+/);
  const name = /\d/.test(first) || second === undefined ? first : `${first}-${second}`;
  return /\d-/.test(name) ? (name.split("-")[0] as string) : name;
}
