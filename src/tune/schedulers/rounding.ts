/** Rounding as Python and numpy do it, so that sizes of brackets and perturbed whole numbers are those of Ray. */

/** The nearest whole number; halves go to the even neighbour. */
export function roundHalfEven(value: number): number {
  const rounded = Math.round(value);
  return Math.abs(value - Math.trunc(value)) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}
