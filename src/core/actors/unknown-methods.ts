/**
 * The error of an unknown method: `handle.incremnt.remote()` names the method that was meant.
 *
 * This object is behind the methods in the chain of prototypes, so calls of known methods never reach it. Reading an unknown name must not throw, because consoles,
 * test runners and `await` read their own names from any object; those are undefined.
 */
import { whatExists } from "./actor-interface.ts";

/** Asked of every object by the language and by common tools. A method of such a name is found before. */
const NOT_METHODS: ReadonlySet<string> = new Set([
  "then",
  "catch",
  "finally",
  "constructor",
  "toJSON",
  "toString",
  "valueOf",
  "inspect",
  "length",
  "nodeType",
  "tagName",
  "$$typeof",
  "asymmetricMatch",
  "hasAttribute",
  "_isMockFunction",
  "__esModule",
]);

/** Names that users of other systems look for on a handle. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  kill: "use the function kill(handle)",
  terminate: "use the function terminate(handle)",
  ready: "use the function ready(handle)",
  exit: "use exitActor() inside a method, or the function terminate(handle)",
  __ray_ready__: "use the function ready(handle)",
  __ray_terminate__: "use the function terminate(handle)",
};

/** Whether tools ask any object for such a name, so that it is none of an actor's methods. */
export function isNoMethod(name: string): boolean {
  return NOT_METHODS.has(name) || name.startsWith("@@");
}

/** The end of the chain of prototypes of a class's handles. */
export function unknownMethods(className: string, methods: readonly string[]): object {
  return new Proxy(Object.create(null) as object, {
    get: (_target, name) => {
      if (typeof name === "symbol" || isNoMethod(name)) return undefined;
      const refuse = (): never => {
        const why = Object.hasOwn(FUNCTIONS, name)
          ? `there is no method ${name}: ${FUNCTIONS[name]}`
          : `${whatExists(name, methods, "method")}; fields and accessors are not methods`;
        throw new TypeError(`Cannot call ${className}.${name}: ${why}`);
      };
      return { remote: refuse, options: refuse, bind: refuse };
    },
  });
}
