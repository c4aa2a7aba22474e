/** Limits of the provider `slurm`: time limits, sizes of calls, and units. */

/** One call of `sbatch`, `squeue` or `scancel`. */
export const SLURM_ANSWERS_WITHIN_MS = 25_000;
/** Calls of `sbatch` at a time. */
export const SUBMISSIONS_MAX = 8;
/** Names in one call of `scancel`. */
export const CANCELS_MAX = 500;
/** Bytes of a mebibyte, in which Slurm counts memory. */
export const MIB_BYTES = 1_048_576;
