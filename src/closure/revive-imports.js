"use strict";
var __createBinding =
  (this && this.__createBinding) ||
  (Object.create
    ? function (o, m, k, k2) {
        if (k2 === undefined) k2 = k;
        var desc = Object.getOwnPropertyDescriptor(m, k);
        if (!desc || ("get" in desc ? !m.__esModule : desc.writable || desc.configurable)) {
          desc = {
            enumerable: true,
            get: function () {
              return m[k];
            },
          };
        }
        Object.defineProperty(o, k2, desc);
      }
    : function (o, m, k, k2) {
        if (k2 === undefined) k2 = k;
        o[k2] = m[k];
      });
var __setModuleDefault =
  (this && this.__setModuleDefault) ||
  (Object.create
    ? function (o, v) {
        Object.defineProperty(o, "default", { enumerable: true, value: v });
      }
    : function (o, v) {
        o["default"] = v;
      });
var __importStar =
  (this && this.__importStar) ||
  (function () {
    var ownKeys = function (o) {
      ownKeys =
        Object.getOwnPropertyNames ||
        function (o) {
          var ar = [];
          for (var k in o) if (Object.prototype.hasOwnProperty.call(o, k)) ar[ar.length] = k;
          return ar;
        };
      return ownKeys(o);
    };
    return function (mod) {
      if (mod && mod.__esModule) return mod;
      var result = {};
      if (mod != null) for (var k = ownKeys(mod), i = 0; i < k.length; i++) if (k[i] !== "default") __createBinding(result, mod, k[i]);
      __setModuleDefault(result, mod);
      return result;
    };
  })();
var __rewriteRelativeImportExtension =
  (this && this.__rewriteRelativeImportExtension) ||
  function (path, preserveJsx) {
    if (typeof path === "string" && /^\.\.?\//.test(path)) {
      return path.replace(/\.(tsx)$|((?:\.d)?)((?:\.[^./]+?)?)\.([cm]?)ts$/i, function (m, tsx, d, ext, cm) {
        return tsx ? (preserveJsx ? ".jsx" : ".js") : d && (!ext || !cm) ? m : d + ext + "." + cm.toLowerCase() + "js";
      });
    }
    return path;
  };
Object.defineProperty(exports, "__esModule", { value: true });
exports.importValues = importValues;
exports.requireBinding = requireBinding;
exports.commonJsExport = commonJsExport;
/**
 * Everything of a graph that has to be waited for: modules to import and definitions to fetch.
 *
 * Decides how an import binding is made again: `import()` from the original file's place, `require` with the interop that the compiler
 * had put around it, an export by reference. Called by `revive` before any text is evaluated, as that part cannot wait.
 */
const node_module_1 = require("node:module");
const node_url_1 = require("node:url");
const errors_ts_1 = require("../base/errors.js");
const identity_ts_1 = require("./identity.js");
const vite_modules_ts_1 = require("./vite-modules.js");
/** The values of all nodes that need waiting for. */
async function importValues(graph, context) {
  const values = new Map();
  const modules = new Map();
  const once = (key, load) => {
    let loading = modules.get(key);
    if (!loading) {
      loading = load();
      modules.set(key, loading);
    }
    return loading;
  };
  const load = async (ref, node) => {
    switch (node.kind) {
      case "import":
        values.set(ref, memberOf(await importBinding(node, { context, once }), node.path, node.specifier));
        return;
      case "module": {
        const evaluated = (0, vite_modules_ts_1.evaluatedExports)(node.file);
        const url = (0, node_url_1.pathToFileURL)(node.file).href + node.query;
        const namespace =
          evaluated ??
          (await once(url, () =>
            explained(() => Promise.resolve(`${__rewriteRelativeImportExtension(url)}`).then((s) => __importStar(require(s))), {
              what: url,
              file: node.file,
            }),
          ));
        values.set(ref, memberOf(namespace, [node.name], url));
        return;
      }
      case "definition":
        values.set(ref, await definedClass(node, context));
        return;
    }
  };
  const waits = [];
  for (const [ref, node] of graph.nodes.entries()) {
    if (node.kind === "import" || node.kind === "module" || node.kind === "definition") waits.push(load(ref, node));
  }
  await Promise.all(waits);
  return values;
}
/** The process's own class where it is known, else what its definition (or one that contains it) brings. */
async function definedClass(node, context) {
  const known = (0, identity_ts_1.knownIdentity)(node.identity);
  if (known) return known;
  const defined = await context.definition(node.definition);
  return (0, identity_ts_1.knownIdentity)(node.identity) ?? defined;
}
function importBinding({ source, specifier, attributes }, { context, once }) {
  const scope = context.scopes[source];
  const evaluated = specifier.startsWith("/") ? (0, vite_modules_ts_1.evaluatedExports)(specifier) : undefined;
  if (evaluated) return Promise.resolve(evaluated);
  const target = specifier.startsWith("/") ? (0, node_url_1.pathToFileURL)(specifier).href : specifier;
  const options = attributes ? { with: attributes } : undefined;
  return once(`${source} ${target}`, () =>
    explained(() => scope.importFrom(target, options), { what: JSON.stringify(specifier), file: scope.file }),
  );
}
async function explained(load, place) {
  try {
    return await load();
  } catch (error) {
    throw importFailure(error, place);
  }
}
function importFailure(error, { what, file }) {
  const message = error instanceof Error ? error.message : String(error);
  return new errors_ts_1.SerializationError(`Cannot import ${what} for a function of ${file}: ${message}`, {
    reason: "import-failed",
    hint: "Is it in the working directory and in package.json of the machine that runs the function?",
    cause: error,
  });
}
function memberOf(value, path, specifier) {
  let member = value;
  for (const name of path) {
    if (!(name in Object(member))) {
      throw new errors_ts_1.SerializationError(
        `Cannot import ${JSON.stringify(name)} from ${JSON.stringify(specifier)}: the module has no such export on this worker`,
        {
          reason: "import-failed",
        },
      );
    }
    member = member[name];
  }
  return member;
}
function requireBinding(node, scope) {
  let module;
  try {
    module = scope.require(node.specifier);
  } catch (error) {
    throw importFailure(error, { what: JSON.stringify(node.specifier), file: scope.file });
  }
  return memberOf(withInterop(module, node), node.path, node.specifier);
}
/** An export of a CommonJS file by reference: `null` names the whole of `module.exports`. */
function commonJsExport(file, name) {
  const exports = (0, node_module_1.createRequire)(file)(file);
  return name === null ? exports : memberOf(exports, [name], file);
}
/** What the interop helpers of TypeScript and esbuild make of a CommonJS module. */
function withInterop(module, { interop, isNodeMode }) {
  if (!interop) return module;
  const isEsModule = module?.__esModule === true;
  switch (interop) {
    case "default":
      return isEsModule ? module : { default: module };
    case "star":
      return isEsModule ? module : Object.defineProperty(liveCopy(module, {}), "default", { value: module, enumerable: true });
    case "toEsm": {
      const target = typeof module === "object" && module !== null ? Object.create(Object.getPrototypeOf(module)) : {};
      const whole = isNodeMode || !isEsModule ? module : module.default;
      return liveCopy(module, Object.defineProperty(target, "default", { value: whole, enumerable: true }));
    }
  }
}
/** Getters, so that bindings stay live as the helpers keep them. */
function liveCopy(module, target) {
  const source = Object(module);
  for (const name of Object.getOwnPropertyNames(source)) {
    if (name !== "default" && !Object.hasOwn(target, name)) {
      Object.defineProperty(target, name, { get: () => source[name], enumerable: true });
    }
  }
  return target;
}
//# sourceMappingURL=revive-imports.js.map
