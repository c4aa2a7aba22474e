/**
 * Weak collections that a class uses, by the class's definition: compilers for older engines keep private fields in them, one for each field.
 *
 * Owns the table. An instance that travels in a value refers to its class by the definition alone, so its entries are looked up here. Written by
 * `capture` and `graph-reviver`, read by `capture`. The code of the class keeps its collections: with the class they go from here.
 */
import { SetMap } from "../../base/collections/set-map.ts";

export type WeakCollection = WeakMap<object, unknown> | WeakSet<object>;

const collectionsByDefinition = new SetMap<string, WeakRef<WeakCollection>>();
/** Holds one reference for each collection, by which a set recognizes it. */
const weakRefs = new WeakMap<WeakCollection, WeakRef<WeakCollection>>();
const collected = new FinalizationRegistry(({ definition, ref }: { definition: string; ref: WeakRef<WeakCollection> }) => {
  collectionsByDefinition.delete(definition, ref);
});

export function recordCollections(definition: string, collections: Iterable<WeakCollection>): void {
  for (const collection of collections) {
    const ref = weakRefTo(collection);
    if (collectionsByDefinition.get(definition).has(ref)) continue;
    collectionsByDefinition.add(definition, ref);
    collected.register(collection, { definition, ref });
  }
}

export function* collectionsOf(definition: string): Iterable<WeakCollection> {
  for (const ref of collectionsByDefinition.get(definition)) {
    const collection = ref.deref();
    if (collection) yield collection;
  }
}

/** How many definitions have collections here. */
export function definitionsWithCollections(): number {
  return collectionsByDefinition.size;
}

function weakRefTo(collection: WeakCollection): WeakRef<WeakCollection> {
  let ref = weakRefs.get(collection);
  if (!ref) {
    ref = new WeakRef(collection);
    weakRefs.set(collection, ref);
  }
  return ref;
}
