/**
 * Facts about a function or class: its text, its parse, its place in a script. Each is looked up once and remembered by identity.
 *
 * Owns a weak cache by function and a small one of parsed texts, which closures made at one place share. The capture files ask for one
 * function several times, and the inspector and the parser make up most of the cost of a capture.
 */
import { type Internals, internalsOf } from "../scripts/hidden-parts.ts";
import { type ParsedText, parseText } from "../parsing/parse-text.ts";
import { type AnyFunction, revivedCodeOf } from "../reviving/revived-code.ts";
import { type Script, scriptById } from "../scripts/script-table.ts";

export type { AnyFunction } from "../reviving/revived-code.ts";

/** Taken before anything can replace it. */
const sourceTextOf = Function.prototype.toString;
const NATIVE_TEXT = /\{\s*\[native code\]\s*\}\s*$/;
/** Not an arrow's parameter or a method that happens to be called `class`. */
const CLASS_TEXT = /^class(?![\w$]|\s*\()/;
/** Enough for the sites of a large program; a text is some hundred bytes. */
const PARSED_TEXTS_MAX = 1000;

export interface ScriptPlace {
  readonly script: Script;
  /** -1 when the text is not found in its script. */
  readonly offset: number;
}

export class FunctionFacts {
  readonly target: AnyFunction;
  /** The text as it was first captured, also for a revived function. */
  readonly text: string;
  readonly isNative: boolean;
  readonly isClass: boolean;
  #parsed: ParsedText | null | undefined;
  #place: ScriptPlace | null | undefined;

  constructor(target: AnyFunction) {
    this.target = target;
    this.text = revivedCodeOf(target)?.code.text ?? sourceTextOf.call(target);
    this.isNative = NATIVE_TEXT.test(this.text.slice(-100));
    this.isClass = CLASS_TEXT.test(this.text);
  }

  get parsed(): ParsedText | null {
    if (this.#parsed === undefined) this.#parsed = parseCached(this.text);
    return this.#parsed;
  }

  /** Whether it is a class that puts private members on its instances. */
  get hasInstancePrivates(): boolean {
    return this.isClass && this.parsed?.class?.hasInstancePrivates === true;
  }

  /** `null` for functions without a text. */
  place(internals?: Internals): ScriptPlace | null {
    if (this.#place === undefined) this.#place = this.#locate(internals ?? internalsOf(this.target));
    return this.#place;
  }

  #locate(internals: Internals): ScriptPlace | null {
    const location = internals.internal.get("[[FunctionLocation]]")?.value as
      | { scriptId: string; lineNumber: number; columnNumber?: number }
      | undefined;
    if (!location) return null;
    const script = scriptById(location.scriptId);
    return { script, offset: script.offsetOf(sourceTextOf.call(this.target), location) };
  }
}

const factsByFunction = new WeakMap<AnyFunction, FunctionFacts>();

export function factsOf(target: AnyFunction): FunctionFacts {
  let facts = factsByFunction.get(target);
  if (!facts) {
    facts = new FunctionFacts(target);
    factsByFunction.set(target, facts);
  }
  return facts;
}

/** A class and those that it extends, its base class last. */
export function ancestorsOf(target: AnyFunction): AnyFunction[] {
  const chain: AnyFunction[] = [];
  for (let at: unknown = target; typeof at === "function" && at !== Function.prototype; at = Object.getPrototypeOf(at)) chain.push(at);
  return chain;
}

const parsedTexts = new Map<string, ParsedText | null>();

function parseCached(text: string): ParsedText | null {
  let parsed = parsedTexts.get(text);
  if (parsed === undefined) {
    parsed = parseText(text);
    if (parsedTexts.size >= PARSED_TEXTS_MAX) parsedTexts.clear();
    parsedTexts.set(text, parsed);
  }
  return parsed;
}
