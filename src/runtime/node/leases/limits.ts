/**
 * The limits of a node's pool of workers, and of what its lease manager keeps and looks at. Times that the head and callers share are in `runtime/scheduling/limits.ts`.
 */
import { WAIT_BEFORE_REVOKE_MS } from "../../scheduling/limits.ts";

/** Workers kept ready before anybody asks; two cover a first task and a first actor without a start in the way. */
export const PREWARMED_MAX = 2;
/** Processes that parked tasks keep for themselves by default, for each CPU of the pool; beyond that a parked process is shared. Each costs memory. */
export const PARKED_PER_CPU = 2;
/**
 * The share of them that nested tasks may keep, less those of the driver's tasks; beyond that nested tasks share. A parent whose children run elsewhere costs some messages: three levels of 10
 * tasks take as long as on shared processes with a half, and up to twice as long with all of them.
 */
export const PARKED_SHARE_OF_NESTED = 0.5;
/** A task that may go on waits for a CPU for so long, and then runs without one. */
export const OVERDRAW_AFTER_MS = 100;
/** A nested task waits for a CPU for so long before it borrows one, where actors and placement groups hold all CPUs for life. */
export const BORROW_AFTER_MS = 200;
/** A worker that was started in the place of a parked one, and that the pool has in excess, ends after so long without work. */
export const SURPLUS_IDLE_MS = 10_000;
/** Pool size for shapes of less than one CPU. Each worker costs about 8 MB. */
export const POOL_SIZE_MAX = 64;
/** Limit on waiting actors that are examined at once. Beyond it only the first actor of each environment is examined. */
export const ACTORS_LOOKED_AT = 64;
/** Released groups are remembered, so that a late demand for one is refused; the oldest are forgotten. */
export const RELEASED_GROUPS_MAX = 10_000;
/** While somebody waits, the node looks this often whether others have to give back. */
export const WAITING_TICK_MS = WAIT_BEFORE_REVOKE_MS;
