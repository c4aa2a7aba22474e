/** Finds the free names of a function's text, and the places where a class's text must be cut. */
import { describe, expect, test } from "vitest";
import { parseText } from "./parse-text.ts";

function freeNames(text: string): string[] {
  return [...(parseText(text)?.free.keys() ?? ["unparsed"])].sort();
}

function writtenNames(text: string): string[] {
  return [...(parseText(text)?.free ?? [])].filter(([, { written }]) => written).map(([name]) => name);
}

describe("free names", () => {
  test.each<[text: string, names: string[]]>([
    ["(x) => x + offset", ["offset"]],
    ["function f(n) { return n < 2 ? 1 : f(n - 1) }", []],
    ["(a = b, { c: d = e, ...f }, [g = h]) => [a, d, f, g]", ["b", "e", "h"]],
    ["() => { var a = 1; { let b = a; const c = b } return b }", ["b"]],
    ["() => { if (x) { var late = 1 } return late }", ["x"]],
    ["() => { for (const i of items) use(i); return i }", ["i", "items", "use"]],
    ["() => { for (i of items); }", ["i", "items"]],
    ["() => { try { risky() } catch ({ message = fallback }) { log(message) } }", ["fallback", "log", "risky"]],
    ["() => { switch (kind) { case a: let b = 1; break; default: return b } }", ["a", "kind"]],
    ["() => { loop: while (true) break loop }", []],
    ["() => object.property + object[key] + { short, [computed]: value }.short", ["computed", "key", "object", "short", "value"]],
    ["function () { return arguments.length }", []],
    ["() => arguments.length", ["arguments"]],
    ["async function* () { for await (const a of source()) yield* a }", ["source"]],
    ["() => { function inner() { return inner(), outer() } return inner }", ["outer"]],
    ["() => class Inner extends Base { static x = Inner; y = z; [k]() { return w } }", ["Base", "k", "w", "z"]],
    ["() => `a ${b} ${c`d`}`", ["b", "c"]],
    ["() => typeof missing + new Thing(...rest)", ["Thing", "missing", "rest"]],
  ])("%s", (text, names) => {
    expect(freeNames(text)).toEqual(names);
  });

  test.each<[text: string, names: string[]]>([
    ["() => ++count", ["count"]],
    ["() => { total += 1; read }", ["total"]],
    ["() => { [first, { second }] = pair }", ["first", "second"]],
    ["() => { let own = 0; own++; return own }", []],
    ["() => { object.field = 1 }", []],
    ["() => () => { deep = 1 }", ["deep"]],
  ])("assigned: %s", (text, names) => {
    expect(writtenNames(text)).toEqual(names);
  });
});

describe("what surrounds the text", () => {
  test("an arrow's `this` is the outer one, a function's is not", () => {
    expect(parseText("() => this.x")?.usesOuterThis).toBe(true);
    expect(parseText("function () { return this.x }")?.usesOuterThis).toBe(false);
    expect(parseText("() => function () { return this.x }")?.usesOuterThis).toBe(false);
    expect(parseText("class { field = this.x }")?.usesOuterThis).toBe(false);
  });

  test("`super` of a method taken alone", () => {
    expect(parseText("greet() { return super.greet() }")?.usesOuterSuper).toBe(true);
    expect(parseText("class A extends B { greet() { return super.greet() } }")?.usesOuterSuper).toBe(false);
  });

  test("private names of another class", () => {
    expect(parseText("(o) => o.#secret")?.outerPrivateName).toBe("#secret");
    expect(parseText("(o) => #secret in o")?.outerPrivateName).toBe("#secret");
    expect(parseText("class { #secret; get() { return this.#secret } }")?.outerPrivateName).toBeNull();
  });

  test("direct eval, new.target and import.meta", () => {
    expect(parseText("() => eval(text)")?.hasDirectEval).toBe(true);
    expect(parseText("() => new.target")?.usesOuterNewTarget).toBe(true);
    const text = "() => import.meta.url";
    const [range] = parseText(text)?.importMeta ?? [];
    expect(text.slice(...(range ?? [0, 0]))).toBe("import.meta");
  });
});

describe("forms of text", () => {
  test.each<[text: string, form: string, key: string | null, accessor: string | null]>([
    ["(x) => x", "expression", null, null],
    ["async (x) => x", "expression", null, null],
    ["function named() {}", "expression", null, null],
    ["method(x) { return x }", "method", "method", null],
    ["async *[key]() {}", "method", "[key]", null],
    ["get value() { return 1 }", "method", "value", "get"],
    ['"quoted name"() {}', "method", '"quoted name"', null],
    ["#hidden() { return this.#other }", "member", "#hidden", null],
    ["class Named {}", "expression", null, null],
  ])("%s", (text, form, key, accessor) => {
    const parsed = parseText(text);
    expect(parsed?.form).toBe(form);
    expect(parsed?.accessor).toBe(accessor);
    expect(parsed?.keyRange ? text.slice(...parsed.keyRange).trim() : null).toBe(key);
  });

  test("text that is no function", () => {
    expect(parseText("1 + 1")).toBeNull();
    expect(parseText("not ( valid")).toBeNull();
  });
});

test("the parts of a class that never run again", () => {
  const text = `class Dog extends Animal {
    static count = start();
    static { register(this) }
    #secret = compute();
    static #shared = 1;
    inert = () => 1;
    constructor() { super() }
    #method() {}
    [computed]() {}
  }`;
  const parsed = parseText(text);
  const { class: found } = parsed ?? {};
  expect(text.slice(...(found?.layout.heritageRange ?? [0, 0]))).toBe("Animal");
  expect(found?.layout.staticParts.map((part) => text.slice(...part).trim())).toEqual(["static count = start();", "register(this)", "= 1"]);
  expect(found?.layout.fieldInitializers.map((part) => text.slice(...part))).toEqual(["compute()"]);
  expect(found?.layout.privateFields).toEqual(["#secret"]);
  expect(found?.layout.privateStaticFields).toEqual(["#shared"]);
  expect(found?.hasInstancePrivates).toBe(true);
  expect(found?.members.flatMap(({ computedKey }) => (computedKey ? [text.slice(...computedKey.range)] : []))).toEqual(["computed"]);
  // Heritage, computed names and static parts are values already: their names are not captured.
  expect([...(parsed?.free.keys() ?? [])]).toEqual(["compute"]);
});
