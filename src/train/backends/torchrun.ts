/**
 * The rank that `torchrun` gave this program. It starts a program several times, as the ranks of a group, and in local mode (`numWorkers: 0`) each program runs its
 * loop as that rank.
 *
 * Pure: reads the given environment. The programs share only torch's connections; each has a separate run folder and session.
 */
import { describeValue } from "../../core/internal.ts";

export interface TorchrunPlace {
  readonly worldSize: number;
  readonly worldRank: number;
  readonly localRank: number;
  readonly localWorldSize: number;
  readonly nodeRank: number;
  /** The variables that torch reads. */
  readonly env: Readonly<Record<string, string>>;
}

const NEEDED = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"] as const;
const OF_TORCHRUN =
  /^(RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|(GROUP|ROLE)_[A-Z_]+|MASTER_(ADDR|PORT)|TORCHELASTIC_[A-Z_]+|OMP_NUM_THREADS)$/;

/** The place that torchrun gave this program; undefined without torchrun. @throws RangeError for variables that are no numbers */
export function torchrunPlace(env: Readonly<Record<string, string | undefined>>): TorchrunPlace | undefined {
  if (NEEDED.some((name) => env[name] === undefined)) return undefined;
  const number = (name: string): number => {
    const value = env[name] as string;
    if (/^\d{1,9}$/.test(value)) return Number(value);
    throw new RangeError(`Cannot train under torchrun: ${name} of the environment is no whole number: received ${describeValue(value)}`);
  };
  const [worldRank, worldSize, localWorldSize] = [number("RANK"), number("WORLD_SIZE"), number("LOCAL_WORLD_SIZE")];
  return {
    worldSize,
    worldRank,
    localRank: number("LOCAL_RANK"),
    localWorldSize,
    nodeRank: env["GROUP_RANK"] === undefined ? Math.floor(worldRank / Math.max(1, localWorldSize)) : number("GROUP_RANK"),
    env: Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => OF_TORCHRUN.test(entry[0]))),
  };
}
