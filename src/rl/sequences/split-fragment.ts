/**
 * Cuts a fragment into shards of equal length, for learners that share a batch.
 *
 * A sequence on the border of two shards is cut there: the first part is bootstrapped from the observation behind it. Where the module remembers, borders lie between chunks,
 * whose states the fragment has.
 */
import { type Fragment, SEQUENCE_END } from "./fragment.ts";

/** A stretch of a sequence. */
interface Piece {
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

/** @returns as many fragments as there are shards; each is the whole one where some would be empty */
export function splitFragment(
  fragment: Fragment,
  { shards, obsSize, stateSize, maxSeqLen }: { shards: number; obsSize: number; stateSize: number; maxSeqLen: number },
): Fragment[] {
  const pieces = cut(fragment, shards, stateSize === 0 ? 1 : maxSeqLen);
  if (pieces.some((own) => own.length === 0)) return pieces.map(() => fragment);
  const chunkAt = stateSize === 0 ? [] : chunksBefore(fragment, maxSeqLen);
  return pieces.map((own) => {
    const joined = <A extends Float32Array | Fragment["actions"]>(
      column: A,
      width: number,
      from: (piece: Piece) => number,
      extra: number,
    ): A => {
      const count = own.reduce((sum, { start, end }) => sum + end - start + extra, 0);
      const into = new (column.constructor as new (length: number) => A)(count * width);
      let at = 0;
      for (const piece of own) {
        const length = (piece.end - piece.start + extra) * width;
        into.set(column.subarray(from(piece) * width, from(piece) * width + length), at);
        at += length;
      }
      return into;
    };
    const row = ({ start }: Piece): number => start;
    let at = 0;
    const sequences = own.flatMap(({ index, start, end }) => {
      const isLast = end === (fragment.sequences[3 * index] as number) + (fragment.sequences[3 * index + 1] as number);
      at += end - start;
      return [at - (end - start), end - start, isLast ? (fragment.sequences[3 * index + 2] as number) : SEQUENCE_END.CUT];
    });
    return {
      rows: at,
      obs: joined(fragment.obs, obsSize, ({ index, start }) => start + index, 1),
      actions: joined(fragment.actions, fragment.actions.length / fragment.rows, row, 0),
      rewards: joined(fragment.rewards, 1, row, 0),
      actionLogp: joined(fragment.actionLogp, 1, row, 0),
      actionDistInputs: joined(fragment.actionDistInputs, fragment.actionDistInputs.length / fragment.rows, row, 0),
      sequences: Int32Array.from(sequences),
      environments: Int32Array.from(own, ({ index }) => fragment.environments[index] as number),
      states: statesOf(fragment, own, { chunkAt, stateSize, maxSeqLen }),
    };
  });
}

/** The pieces of each shard. Borders lie at multiples of `step` from the start of a sequence. */
function cut({ rows, sequences }: Fragment, shards: number, step: number): Piece[][] {
  const pieces = Array.from({ length: shards }, (): Piece[] => []);
  let shard = 0;
  let taken = 0;
  for (let index = 0; index < sequences.length / 3; index += 1) {
    let start = sequences[3 * index] as number;
    const last = start + (sequences[3 * index + 1] as number);
    while (start < last) {
      const wanted = Math.round(((shard + 1) * rows) / shards) - taken;
      const length = shard === shards - 1 ? last - start : Math.min(last - start, Math.max(1, Math.round(wanted / step)) * step);
      pieces[shard]?.push({ index, start, end: start + length });
      taken += length;
      start += length;
      if (shard < shards - 1 && taken >= Math.round(((shard + 1) * rows) / shards) - step / 2) shard += 1;
    }
  }
  return pieces;
}

/** By sequence: the chunks before it. */
function chunksBefore({ sequences }: Fragment, maxSeqLen: number): number[] {
  let chunks = 0;
  return Array.from({ length: sequences.length / 3 }, (_, index) => {
    const before = chunks;
    chunks += Math.ceil((sequences[3 * index + 1] as number) / maxSeqLen);
    return before;
  });
}

function statesOf(
  { states, sequences }: Fragment,
  pieces: readonly Piece[],
  { chunkAt, stateSize, maxSeqLen }: { chunkAt: readonly number[]; stateSize: number; maxSeqLen: number },
): Float32Array {
  if (stateSize === 0) return new Float32Array();
  const parts = pieces.map(({ index, start, end }) => {
    const first = (chunkAt[index] as number) + (start - (sequences[3 * index] as number)) / maxSeqLen;
    return states.subarray(first * stateSize, (first + Math.ceil((end - start) / maxSeqLen)) * stateSize);
  });
  const joined = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
