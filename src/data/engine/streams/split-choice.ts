/**
 * Chooses the consumer of each block of a `streamingSplit`. Pure: the coordinator (`split-coordinator.ts`) knows the places of blocks and hands them out.
 *
 * A consumer that names its node gets blocks of that node first. It waits for them within a window of blocks, so no consumer starves if all blocks are on
 * another node. With equal parts one rule always holds: a gift leaves enough free rows to make all parts equal at the end.
 */

/** A block that is nobody's yet. */
interface FreeBlock {
  readonly rowCount: number;
  /** The nodes that have its bytes; empty where that is not known. */
  readonly nodeIds: readonly string[];
}

interface Consumer {
  /** Rows that are or were its own. */
  readonly rows: number;
  /** Undefined where any block is as good as another. */
  readonly nodeId: string | undefined;
}

interface Gift {
  /** Index of the block among the free ones. */
  readonly block: number;
  readonly consumer: number;
}

/**
 * Chooses the next gift for equal parts.
 *
 * @param window - with this many free blocks, no consumer waits for blocks of its own node
 * @returns undefined if more blocks must come first
 */
export function nextGift(free: readonly FreeBlock[], consumers: readonly Consumer[], window: number): Gift | undefined {
  const byRows = consumers.map((_, index) => index).sort((a, b) => (consumers[a] as Consumer).rows - (consumers[b] as Consumer).rows);
  const isPatient = consumers.some(({ nodeId }) => nodeId !== undefined) && free.length < window;
  for (const consumer of isPatient ? byRows : byRows.slice(0, 1)) {
    const block = blockFor(free, { consumers, consumer, isPatient });
    if (block !== undefined && leavesEnough(free, consumers, { block, consumer })) return { block, consumer };
  }
  return undefined;
}

/** Chooses a block for a consumer that asks. @returns the block's index; undefined without a block, or with `isPatient` without one on the consumer's node */
export function blockFor(
  free: readonly FreeBlock[],
  { consumers, consumer, isPatient }: { readonly consumers: readonly Consumer[]; readonly consumer: number; readonly isPatient: boolean },
): number | undefined {
  const own = consumers[consumer] as Consumer;
  if (free.length === 0) return undefined;
  if (own.nodeId === undefined) return 0;
  const near = free.findIndex(({ nodeIds }) => isNear(nodeIds, own));
  if (near >= 0) return near;
  return isPatient ? undefined : leastMissed(free, consumers);
}

function isNear(nodeIds: readonly string[], { nodeId }: Consumer): boolean {
  return nodeId !== undefined && nodeIds.includes(nodeId);
}

/** The first block that no consumer has on its own node, else the first one. */
function leastMissed(free: readonly FreeBlock[], consumers: readonly Consumer[]): number {
  return Math.max(
    0,
    free.findIndex(({ nodeIds }) => !consumers.some((each) => isNear(nodeIds, each))),
  );
}

/** Whether the rows behind a gift suffice to give all consumers as many as the one with the most. */
function leavesEnough(free: readonly FreeBlock[], consumers: readonly Consumer[], { block, consumer }: Gift): boolean {
  const given = (free[block] as FreeBlock).rowCount;
  const rows = consumers.map((each, index) => each.rows + (index === consumer ? given : 0));
  const most = Math.max(...rows);
  const missing = rows.reduce((sum, each) => sum + most - each, 0);
  const behind = free.reduce((sum, { rowCount }) => sum + rowCount, 0) - given;
  return missing <= behind;
}
