/** Names of runs, trials and checkpoints: each becomes the name of a folder, and must not lead out of the folder that it is in. */
import { describeValue } from "../../core/internal.ts";
import { NAME_BYTES_MAX } from "../limits.ts";

/**
 * @param what - begins the message: `"Cannot start a run: its name"`
 * @throws TypeError, RangeError for an unsafe folder name
 */
export function checkName(name: unknown, what: string): asserts name is string {
  if (typeof name !== "string") throw new TypeError(`${what} must be text: received ${describeValue(name)}`);
  const reason = whyUnsafe(name);
  if (reason !== undefined) throw new RangeError(`${what} ${reason}: received ${describeValue(name)}`);
}

function whyUnsafe(name: string): string | undefined {
  if (name === "") return "must not be empty";
  if (/[/\\]/.test(name)) return "must not have slashes, as it is the name of one folder";
  // Hidden names are for unfinished files, and "." and ".." lead out of the folder.
  if (name.startsWith(".")) return "must not begin with a dot";
  if (/\p{Cc}/u.test(name)) return "must not have control characters";
  if (!name.isWellFormed()) return "must be well-formed Unicode";
  if (name.trim() !== name) return "must not begin or end with a space";
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return `must have at most ${NAME_BYTES_MAX} bytes`;
  return undefined;
}

/** `TorchTrainer_2026-11-25_20-03-59`: the name of a run without a given one, in Ray's form. */
export function defaultRunName(prefix: string, now: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  return `${prefix}_${day}_${two(now.getHours())}-${two(now.getMinutes())}-${two(now.getSeconds())}`;
}
