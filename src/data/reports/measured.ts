/** The mean, deviation and largest of numbers that come one by one, by Welford's method. The engine measures with it, and `issues.ts` compares. */
export class Measured {
  count = 0;
  mean = 0;
  max = 0;
  #squares = 0;

  add(value: number): void {
    this.count += 1;
    const distance = value - this.mean;
    this.mean += distance / this.count;
    this.#squares += distance * (value - this.mean);
    this.max = Math.max(this.max, value);
  }

  /** The standard deviation of the sample; 0 for fewer than two numbers. */
  get deviation(): number {
    return this.count < 2 ? 0 : Math.sqrt(this.#squares / (this.count - 1));
  }
}
