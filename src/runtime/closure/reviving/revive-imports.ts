/**
 * Produces the nodes of a graph that need waiting: modules to import and definitions to fetch.
 *
 * Decides how an import binding is made again: `import()` from the original file's place, `require` with the interop that the compiler
 * had put around it, an export by reference. Called by `revive` before any text is evaluated, as that part cannot wait.
 */
import { messageOf } from "../../base/texts/describe.ts";
import fs from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { saveCodeCache } from "../../os/files/code-cache.ts";
import { RuntimeEnvError, SerializationError } from "../../base/errors.ts";
import type { FileScope } from "./evaluate-text.ts";
import { toDriverPath } from "../modules/foreign-code.ts";
import { explainMissingFile, explanationOf } from "../modules/foreign-imports.ts";
import type { Graph, ImportNode, Node, Ref, RequireNode } from "../graph.ts";
import { knownIdentity } from "../values/identity.ts";
import { tryRead } from "../values/known-values.ts";
import { importWithLoader, isMissingModule, loaderHint, mayNeedLoader, requireWithLoader } from "../modules/missing-loader.ts";
import { evaluatedExports } from "../scripts/vite-modules.ts";
import { loadWellKnown } from "../values/well-known.ts";

interface ImportContext {
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
  const user = describeRoot(graph);
  const load = async (ref: Ref, node: Node): Promise<void> => {
    switch (node.kind) {
      case "import":
        values.set(ref, memberOf(await importBinding(node, { context, once, user }), node.path, node.specifier));
        return;
      case "module": {
        const evaluated = evaluatedExports(node.file);
        const url = pathToFileURL(node.file).href + node.query;
        const namespace =
          evaluated ??
          (await once(url, () => explained(() => import(url) as Promise<object>, { what: url, file: node.file, user, target: url })));
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

/** Names a graph's root for errors. */
export function describeRoot({ nodes, root }: Graph): string {
  const node = nodes[root];
  if (node?.kind !== "function" && node?.kind !== "class") return "a value";
  return `${node.kind} ${node.code.name || "anonymous"}`;
}

/** Returns the process's own class if known by identity, else loads its definition, or the one that contains it. */
async function definedClass(node: Extract<Node, { kind: "definition" }>, context: ImportContext): Promise<unknown> {
  const known = knownIdentity(node.identity);
  if (known) return known;
  const defined = await context.definition(node.definition);
  return knownIdentity(node.identity) ?? defined;
}

interface Loading {
  readonly context: ImportContext;
  readonly once: (key: string, load: () => Promise<object>) => Promise<object>;
  readonly user: string;
}

function importBinding({ source, specifier, attributes }: ImportNode, { context, once, user }: Loading): Promise<object> {
  const scope = context.scopes[source] as FileScope;
  const evaluated = specifier.startsWith("file:") ? evaluatedExports(fileURLToPath(specifier) + new URL(specifier).search) : undefined;
  if (evaluated) return Promise.resolve(evaluated);
  const options = attributes ? { with: attributes } : undefined;
  return once(`${source} ${specifier}`, () =>
    explained(() => scope.importFrom(specifier, options), { what: JSON.stringify(specifier), file: scope.file, user, target: specifier }),
  );
}

/** An `import()` inside the code: if no loader would help, the error is the module's own, with its code. */
export async function importInside(load: () => Promise<object>, place: ImportPlace): Promise<object> {
  try {
    return await importWithLoader(load, place.file);
  } catch (error) {
    throw mayNeedLoader(error) && !isMissingModule(error) ? importFailure(error, place) : error;
  }
}

interface ImportPlace {
  readonly what: string;
  /** The file that imports it, or the module itself where it is referred to by its place. */
  readonly file: string;
  /** The function that needs it, such as `function train (main.ts:12)`. */
  readonly user: string;
  /** The module's URL, where that is known. */
  readonly target?: string;
}

async function explained(load: () => Promise<object>, place: ImportPlace): Promise<object> {
  try {
    const loaded = await importWithLoader(load, place.file, place.target);
    saveCodeCache();
    return loaded;
  } catch (error) {
    throw importFailure(error, place);
  }
}

function importFailure(error: unknown, { what, file, user }: ImportPlace): Error {
  // The error already explains itself.
  if (error instanceof RuntimeEnvError) return error;
  const message = messageOf(error);
  const isMissing = isMissingModule(error);
  const foreign = explanationOf(error) ?? (isMissing && what.startsWith("file:") ? explainMissingFile(file) : undefined);
  if (foreign !== undefined) {
    return new RuntimeEnvError(`Cannot import ${toDriverPath(what)} for a function of ${toDriverPath(file)}: ${foreign}`, {
      reason: "what the driver's code imports is not on this node",
      cause: error,
    });
  }
  const hint = importHint(error, file);
  return new SerializationError(`Cannot import ${what} for ${user} of ${file}: ${message}\n    ${hint}`, {
    reason: "import-failed",
    hint,
    cause: error,
  });
}

function importHint(error: unknown, file: string): string {
  if (usesViteEnvironment(error, file)) {
    return "import.meta.env is Vite's and exists in the process of the test alone: read process.env, or pass the value as an argument.";
  }
  return mayNeedLoader(error)
    ? `${loaderHint()} Or is the file missing on the machine that runs the function?`
    : "The module failed while it was loaded on the worker.";
}

/** Whether the module that threw at its top level reads what Vite alone provides. */
function usesViteEnvironment(error: unknown, file: string): boolean {
  if (!(error instanceof TypeError)) return false;
  const place = /(?:file:\/\/)?(\/[^\s()]+?):\d+:\d+\)?$/m.exec(error.stack ?? "")?.[1];
  const text = tryRead(() => fs.readFileSync(place === undefined ? file : decodeURI(place), "utf8"));
  return text?.includes("import.meta.env") === true;
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

export function requireBinding(node: RequireNode, scope: FileScope, user: string): unknown {
  let module: unknown;
  try {
    module = requireWithLoader(() => scope.require(node.specifier) as unknown, scope.file);
  } catch (error) {
    throw importFailure(error, { what: JSON.stringify(node.specifier), file: scope.file, user });
  }
  return memberOf(withInterop(module, node), node.path, node.specifier);
}

/** An export of a CommonJS file by reference: `null` names the whole of `module.exports`. */
export function commonJsExport(file: string, name: string | null): unknown {
  const exports: unknown = requireWithLoader(() => createRequire(file)(file) as unknown, file);
  return name === null ? exports : memberOf(exports, [name], file);
}

/** Applies the interop helpers of TypeScript and esbuild to a CommonJS module. */
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
