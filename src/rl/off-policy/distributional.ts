/**
 * Projects distributions of returns onto the atoms of a support: arXiv:1707.06887, algorithm 1.
 *
 * A return between two atoms gives each a share by distance; a return on an atom gives that its whole mass. Returns beyond the support count at its ends.
 */

interface ProjectionRequest {
  /** By row. */
  readonly rewards: Float32Array;
  readonly discounts: Float32Array;
  /** The returns of the atoms, evenly spaced. */
  readonly support: Float32Array;
}

/** @returns the projected distributions, and how many rows have a mean beyond the support */
export function project(
  probabilities: Float32Array,
  { rewards, discounts, support }: ProjectionRequest,
): { projected: Float32Array; outside: number } {
  const atoms = support.length;
  const low = support[0] as number;
  const high = support.at(-1) as number;
  const width = (high - low) / (atoms - 1);
  const projected = new Float32Array(probabilities.length);
  let outside = 0;
  for (let row = 0; row < rewards.length; row += 1) {
    const from = row * atoms;
    let mean = 0;
    for (let atom = 0; atom < atoms; atom += 1) {
      const mass = probabilities[from + atom] as number;
      const value = (rewards[row] as number) + (discounts[row] as number) * (support[atom] as number);
      mean += mass * value;
      const place = Math.min(atoms - 1, Math.max(0, (value - low) / width));
      const lower = Math.floor(place);
      const share = place - lower;
      projected[from + lower] = (projected[from + lower] as number) + mass * (1 - share);
      if (share > 0) projected[from + lower + 1] = (projected[from + lower + 1] as number) + mass * share;
    }
    if (mean < low || mean > high) outside += 1;
  }
  return { projected, outside };
}
