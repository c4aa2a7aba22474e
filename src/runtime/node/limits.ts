/** Limits of looking into the processes of a node: lengths, kept results, and open inspectors. */

/** A profile of ten minutes has some 50 MB. */
export const PROFILE_MS_MAX = 600_000;
/** Bytes of a result in one answer, far below the largest frame. */
export const RESULT_PART_BYTES = 1024 * 1024;
/** Time without a reader after which a result goes. */
export const RESULT_KEPT_MS = 60_000;
/** Results that wait for their readers: people ask for few at once. */
export const RESULTS_KEPT_MAX = 16;
/** Time after which an inspector closes that nobody renews: the command that opened it may have been killed. */
export const INSPECTOR_KEPT_OPEN_MS = 15_000;
