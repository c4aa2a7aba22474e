/**
 * Finds names close to a misspelt one: "did you mean" for options.
 *
 * Names are compared without case and underscores, so that a slip of the finger and another language's spelling are both near. Pure;
 * called only on the way to an error.
 */

const SUGGESTIONS_MAX = 3;

/** Returns the known names nearest to a name, best first, or none if nothing is near. */
export function nearNames(name: string, known: readonly string[]): string[] {
  const wanted = folded(name);
  return known
    .map((candidate) => ({ candidate, distance: distanceTo(wanted, folded(candidate)) }))
    .filter(({ distance }) => distance <= Math.max(2, Math.floor(wanted.length / 3)))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, SUGGESTIONS_MAX)
    .map(({ candidate }) => candidate);
}

function folded(name: string): string {
  // Cut, because the distance is quadratic and a name may be any text.
  return name.slice(0, 64).replaceAll("_", "").toLowerCase();
}

/** A name without its unit or its first word is as near as can be: `timeout` for `timeoutMs`, `retries` for `maxRetries`. */
function distanceTo(wanted: string, candidate: string): number {
  return candidate.includes(wanted) && wanted.length >= 4 ? 0 : editDistance(wanted, candidate);
}

/** The number of characters to add, remove, replace or swap with their neighbour that turns one text into the other. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      let best = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwapped) best = Math.min(best, at(beforeLast, column - 2) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(distances: readonly number[], column: number): number {
  return distances[column] ?? Number.POSITIVE_INFINITY;
}
