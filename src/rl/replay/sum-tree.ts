/**
 * A tree of sums over numbers from 0: it changes one of them and finds one by its share in logarithmic time.
 *
 * Sums are float64 and computed anew from both children, so that they do not drift. The number of leaves grows by doubling.
 */
export class SumTree {
  /** A power of two. Node 1 is the root, and leaf `i` is node `#leaves + i`. */
  #leaves = 1;
  #sums: Float64Array = new Float64Array(2);

  get total(): number {
    return this.#sums[1] as number;
  }

  get(leaf: number): number {
    return leaf < this.#leaves ? (this.#sums[this.#leaves + leaf] as number) : 0;
  }

  set(leaf: number, value: number): void {
    while (leaf >= this.#leaves) this.#grow();
    let node = this.#leaves + leaf;
    this.#sums[node] = value;
    for (node >>= 1; node >= 1; node >>= 1) this.#sums[node] = (this.#sums[2 * node] as number) + (this.#sums[2 * node + 1] as number);
  }

  /** The first leaf at which the sum of all leaves up to it is more than `sum`. A leaf of 0 is never found while another is above 0. */
  find(sum: number): number {
    let node = 1;
    let left = sum;
    while (node < this.#leaves) {
      node *= 2;
      const first = this.#sums[node] as number;
      // Rounding may leave more than there is: a side without any weight is never entered.
      if (left < first || this.#sums[node + 1] === 0) continue;
      left -= first;
      node += 1;
    }
    return node - this.#leaves;
  }

  #grow(): void {
    const old = this.#sums.subarray(this.#leaves);
    this.#leaves *= 2;
    this.#sums = new Float64Array(2 * this.#leaves);
    this.#sums.set(old, this.#leaves);
    for (let node = this.#leaves - 1; node >= 1; node -= 1)
      this.#sums[node] = (this.#sums[2 * node] as number) + (this.#sums[2 * node + 1] as number);
  }
}
