/**
 * Decides the rows of each part of a `split` whose parts name their nodes. Pure: `splits.ts` knows where blocks lie, and cuts them.
 *
 * A block goes whole to a part of a node that has it, as long as that part has room. The others are cut where parts are full, and parts of their nodes take from them first.
 * Always holds: parts get the numbers of rows that they are to have, no row twice, and rows of a part keep the order of the dataset.
 */

interface PlacedBlock {
  readonly rowCount: number;
  /** The nodes that have its bytes; empty where that is not known. */
  readonly nodeIds: readonly string[];
}

/** Rows of a block, by its number. */
interface BlockPiece {
  readonly block: number;
  readonly from: number;
  readonly to: number;
}

/**
 * @param sizes - rows of each part, together no more than there are
 * @param nodeIds - the node of each part
 */
export function localParts(blocks: readonly PlacedBlock[], sizes: readonly number[], nodeIds: readonly string[]): BlockPiece[][] {
  const room = [...sizes];
  const parts: BlockPiece[][] = sizes.map(() => []);
  const give = (part: number, piece: BlockPiece): void => {
    (parts[part] as BlockPiece[]).push(piece);
    room[part] = (room[part] as number) - (piece.to - piece.from);
  };
  const byRoom = (candidates: readonly number[]): number[] => candidates.toSorted((a, b) => (room[b] as number) - (room[a] as number));
  const isNear = (part: number, block: number): boolean => (blocks[block] as PlacedBlock).nodeIds.includes(nodeIds[part] as string);
  const all = [...sizes.keys()];
  const left = [...blocks.keys()].filter((block) => {
    const { rowCount } = blocks[block] as PlacedBlock;
    const [part] = byRoom(all.filter((one) => isNear(one, block) && (room[one] as number) >= rowCount));
    if (part !== undefined) give(part, { block, from: 0, to: rowCount });
    return part === undefined;
  });
  for (const block of left) {
    const { rowCount } = blocks[block] as PlacedBlock;
    let from = 0;
    for (const part of [...byRoom(all.filter((one) => isNear(one, block))), ...all.filter((one) => !isNear(one, block))]) {
      const to = Math.min(rowCount, from + (room[part] as number));
      if (to > from) give(part, { block, from, to });
      from = to;
    }
  }
  return parts.map((own) => own.sort((a, b) => a.block - b.block || a.from - b.from));
}
