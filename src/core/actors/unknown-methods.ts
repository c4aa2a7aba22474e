/**
 * What a handle says for a method that its class does not have: `handle.incremnt.remote()` names the method that was meant.
 *
 * It lies behind the methods in the chain of prototypes, so that a call of a method that exists never comes here. A name that is asked for and not called
 * must not throw: consoles, test runners and `await` ask any object for names of theirs, and for those there is nothing at all.
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

/** What users of other systems look for on a handle. */
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
