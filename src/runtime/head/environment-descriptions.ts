/**
 * What the keys of runtime environments mean, as those told who use them: for nodes that are to run something under a key that none of their processes has described.
 *
 * A process tells it before anything that carries the key, so it is here first, or with the next word of that process: a question that comes before waits for it.
 * Described once by whoever uses it first; all say the same of one key, as it is a hash of what it means.
 */
import type { EnvironmentHeader } from "../wire/messages.ts";

export class EnvironmentDescriptions {
  readonly #descriptions = new Map<string, object>();
  readonly #waiting = new Map<string, ((description: object) => void)[]>();

  described({ key, description }: EnvironmentHeader): void {
    if (this.#descriptions.has(key)) return;
    this.#descriptions.set(key, description);
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const resolve of waiting) resolve(description);
  }

  has(key: string): boolean {
    return this.#descriptions.has(key);
  }

  fetch(key: string, resolve: (description: object) => void): void {
    const known = this.#descriptions.get(key);
    if (known !== undefined) resolve(known);
    else this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), resolve]);
  }
}
