/**
 * Descriptions of runtime environments by key, for nodes that have to run something under a key that none of their processes has described.
 *
 * A process sends the description before anything that carries the key, so it arrives first, or with that process's next message. A
 * question that arrives earlier waits. Only the first user of a key describes it: the key is a hash of the description, so all would say
 * the same.
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
