/**
 * Everything of a graph that has to be waited for: modules to import and definitions to fetch.
 *
 * Decides how an import binding is made again: `import()` from the original file's place, `require` with the interop that the compiler
 * had put around it, an export by reference. Called by `revive` before any text is evaluated, as that part cannot wait.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { saveCodeCache } from "../platform/files/code-cache.ts";
import { RuntimeEnvError, SerializationError } from "../base/errors.ts";
import type { FileScope } from "./evaluate-text.ts";
import { toThere } from "./foreign-code.ts";
import { explainMissingFile, explanationOf } from "./foreign-imports.ts";
import type { Graph, ImportNode, Node, Ref, RequireNode } from "./graph.ts";
import { knownIdentity } from "./identity.ts";
import { evaluatedExports } from "./vite-modules.ts";
import { loadWellKnown } from "./well-known.ts";

export interface ImportContext {
  readonly scopes: readonly FileScope[];
  definition(id: string): Promise<unknown>;
}

const WAITED_FOR: ReadonlySet<Node["kind"]> = new Set(["import", "module", "definition", "wellKnown", "wellKnownModule"]);

/** The values of all nodes that need waiting for. Parts of the runtime itself are only loaded, and found by name later. */
export async function importValues(graph: Graph, context: ImportContext): Promise<Map<Ref, unknown>> {
  const values = new Map<Ref, unknown>();
  const modules = new Map<string, Promise<object>>();
  const once = (key: string, load: () => Promise<object>): Promise<object> => {
    let loading = modules.get(key);
    if (!loading) {
      loading = load();
      modules.set(key, loading);
    }
    return loading;
  };
  const load = async (ref: Ref, node: Node): Promise<void> => {
    switch (node.kind) {
      case "import":
        values.set(ref, memberOf(await importBinding(node, { context, once }), node.path, node.specifier));
        return;
      case "module": {
        const evaluated = evaluatedExports(node.file);
        const url = pathToFileURL(node.file).href + node.query;
        const namespace =
          evaluated ?? (await once(url, () => explained(() => import(url) as Promise<object>, { what: url, file: node.file })));
        values.set(ref, memberOf(namespace, [node.name], url));
        return;
      }
      case "definition":
        values.set(ref, await definedClass(node, context));
        return;
      case "wellKnown":
        await loadWellKnown(node.id);
        return;
      case "wellKnownModule":
        for (const [, id] of node.members) await loadWellKnown(id);
        return;
    }
  };
  const waits: Promise<void>[] = [];
  for (const [ref, node] of graph.nodes.entries()) {
    if (WAITED_FOR.has(node.kind)) waits.push(load(ref, node));
  }
  await Promise.all(waits);
  return values;
}

/** The process's own class where it is known, else what its definition (or one that contains it) brings. */
async function definedClass(node: Extract<Node, { kind: "definition" }>, context: ImportContext): Promise<unknown> {
  const known = knownIdentity(node.identity);
  if (known) return known;
  const defined = await context.definition(node.definition);
  return knownIdentity(node.identity) ?? defined;
}

interface Loading {
  readonly context: ImportContext;
  readonly once: (key: string, load: () => Promise<object>) => Promise<object>;
}

function importBinding({ source, specifier, attributes }: ImportNode, { context, once }: Loading): Promise<object> {
  const scope = context.scopes[source] as FileScope;
  const evaluated = specifier.startsWith("/") ? evaluatedExports(specifier) : undefined;
  if (evaluated) return Promise.resolve(evaluated);
  const target = specifier.startsWith("/") ? pathToFileURL(specifier).href : specifier;
  const options = attributes ? { with: attributes } : undefined;
  return once(`${source} ${target}`, () =>
    explained(() => scope.importFrom(target, options), { what: JSON.stringify(specifier), file: scope.file }),
  );
}

async function explained(load: () => Promise<object>, place: { what: string; file: string }): Promise<object> {
  try {
    const loaded = await load();
    saveCodeCache();
    return loaded;
  } catch (error) {
    throw importFailure(error, place);
  }
}

function importFailure(error: unknown, { what, file }: { what: string; file: string }): Error {
  // It says all there is to say.
  if (error instanceof RuntimeEnvError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const isMissing = (error as { code?: unknown } | null)?.code === "ERR_MODULE_NOT_FOUND" || message.startsWith("Cannot find module");
  const foreign = explanationOf(error) ?? (isMissing && what.startsWith("file:") ? explainMissingFile(file) : undefined);
  if (foreign !== undefined) {
    return new RuntimeEnvError(`Cannot import ${toThere(what)} for a function of ${toThere(file)}: ${foreign}`, {
      reason: "what the driver's code imports is not on this node",
      cause: error,
    });
  }
  return new SerializationError(`Cannot import ${what} for a function of ${file}: ${message}`, {
    reason: "import-failed",
    hint: "Is it in the working directory and in package.json of the machine that runs the function?",
    cause: error,
  });
}

function memberOf(value: unknown, path: readonly string[], specifier: string): unknown {
  let member = value;
  for (const name of path) {
    if (!(name in Object(member))) {
      throw new SerializationError(
        `Cannot import ${JSON.stringify(name)} from ${JSON.stringify(specifier)}: the module has no such export on this worker`,
        {
          reason: "import-failed",
        },
      );
    }
    member = (member as Record<string, unknown>)[name];
  }
  return member;
}

export function requireBinding(node: RequireNode, scope: FileScope): unknown {
  let module: unknown;
  try {
    module = scope.require(node.specifier) as unknown;
  } catch (error) {
    throw importFailure(error, { what: JSON.stringify(node.specifier), file: scope.file });
  }
  return memberOf(withInterop(module, node), node.path, node.specifier);
}

/** An export of a CommonJS file by reference: `null` names the whole of `module.exports`. */
export function commonJsExport(file: string, name: string | null): unknown {
  const exports: unknown = createRequire(file)(file);
  return name === null ? exports : memberOf(exports, [name], file);
}

/** What the interop helpers of TypeScript and esbuild make of a CommonJS module. */
function withInterop(module: unknown, { interop, isNodeMode }: RequireNode): unknown {
  if (!interop) return module;
  const isEsModule = (module as { __esModule?: unknown } | null)?.__esModule === true;
  switch (interop) {
    case "default":
      return isEsModule ? module : { default: module };
    case "star":
      return isEsModule ? module : Object.defineProperty(liveCopy(module, {}), "default", { value: module, enumerable: true });
    case "toEsm": {
      const target =
        typeof module === "object" && module !== null ? (Object.create(Object.getPrototypeOf(module) as object) as object) : {};
      const whole = isNodeMode || !isEsModule ? module : (module as { default?: unknown }).default;
      return liveCopy(module, Object.defineProperty(target, "default", { value: whole, enumerable: true }));
    }
  }
}

/** Getters, so that bindings stay live as the helpers keep them. */
function liveCopy<Target extends object>(module: unknown, target: Target): Target {
  const source = Object(module) as Record<string, unknown>;
  for (const name of Object.getOwnPropertyNames(source)) {
    if (name !== "default" && !Object.hasOwn(target, name)) {
      Object.defineProperty(target, name, { get: () => source[name], enumerable: true });
    }
  }
  return target;
}
