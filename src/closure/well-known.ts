/**
 * The runtime's own exports, known on every process under the same name.
 *
 * Decides that `remote`, `get`, `ObjectRef` and the like are never shipped by value, even when the runtime is bundled into the user's
 * program. The core registers them at start; `capture` asks by value, `revive` by name.
 */

const idByValue = new WeakMap<object, string>();
const valueById = new Map<string, object>();

/** @param id - the same on every process of one version, such as `shoal:get` */
export function registerWellKnown(id: string, value: object): void {
  idByValue.set(value, id);
  valueById.set(id, value);
}

export function wellKnownId(value: object): string | undefined {
  return idByValue.get(value);
}

export function wellKnownValue(id: string): object | undefined {
  return valueById.get(id);
}
