/**
 * Makes values from the output of `capture`, in this process: entry to the reviving half of this folder, called by the core and the
 * workers.
 *
 * Works in three steps. Imports and definitions come first, as the only part that waits. The texts of functions and classes follow, then
 * the content of objects, which are created empty so that cycles close. No user code runs: neither computed names nor static initializers,
 * constructors or field initializers. A class that this process knows by identity is used as it is.
 */
import { SerializationError } from "../base/errors.ts";
import { type DecodeHooks, decodeValue } from "../wire/value/decode.ts";
import { FileScope } from "./reviving/evaluate-text.ts";
import { toLocalGraph } from "./modules/foreign-code.ts";
import { type Graph, GRAPH_VERSION } from "./graph.ts";
import { GraphReviver } from "./reviving/graph-reviver.ts";
import { definitionId } from "./values/identity.ts";
import { importValues } from "./reviving/revive-imports.ts";

export interface ReviveContext {
  /** Makes values from the reduced forms of the capturing side's hooks. */
  readonly hooks: DecodeHooks;
  /** The revived value of another definition. */
  definition(id: string): Promise<unknown>;
  /** Hears of each class that is made here, and of each function that is used as one. */
  onClass?: ((target: object) => void) | undefined;
}

/** @throws SerializationError when an import cannot be made here or the bytes are of another version */
export function reviveDefinition(bytes: Uint8Array, buffers: readonly Uint8Array[], context: ReviveContext): Promise<unknown> {
  return reviveGraph(bytes, buffers, { context, definition: definitionId(bytes, buffers) });
}

/** @throws SerializationError when an import cannot be made here or the bytes are of another version */
export function reviveValue(bytes: Uint8Array, buffers: readonly Uint8Array[], context: ReviveContext): Promise<unknown> {
  return reviveGraph(bytes, buffers, { context, definition: null });
}

/** Graphs contain no forms of the hooks, which are nodes. */
const NO_FORMS: DecodeHooks = {
  revive: (kind) => {
    throw new SerializationError(`Cannot revive a value: unexpected form ${kind} in a captured graph`, { reason: "malformed" });
  },
};

/** The graph that was captured, which runs no code. @throws SerializationError when the bytes are of another version */
export function readGraph(bytes: Uint8Array, buffers: readonly Uint8Array[]): Graph {
  const received = decodeValue(bytes, buffers, NO_FORMS) as Graph;
  if (received?.version !== GRAPH_VERSION) {
    throw new SerializationError(
      `Cannot revive a value: it was captured by another version of Shoal: received format ${String(received?.version)}, expected ${GRAPH_VERSION}`,
      { reason: "version-mismatch", hint: "Run the same version of shoal everywhere." },
    );
  }
  return received;
}

async function reviveGraph(
  bytes: Uint8Array,
  buffers: readonly Uint8Array[],
  { context, definition }: { context: ReviveContext; definition: string | null },
): Promise<unknown> {
  const graph = toLocalGraph(readGraph(bytes, buffers));
  const scopes = graph.sources.map((source) => new FileScope(source));
  const imported = await importValues(graph, { scopes, definition: (id) => context.definition(id) });
  // Stack traces of revived code point into texts of ours; their source maps lead back to the user's lines.
  process.setSourceMapsEnabled(true);
  return new GraphReviver(graph, { scopes, imported, hooks: context.hooks, definition, onClass: context.onClass }).revive();
}
