/**
 * Edits the captured text of one function or class so that it can be evaluated inside another text.
 *
 * `import.meta` becomes a variable of the same length, and imports are read from their module at each use. A method loses its key. A class
 * takes its heritage from a value, and its static parts are blanked, newlines excepted. A class with private members gets a switch that
 * turns its constructor off, and a door to its private names. Edits keep the positions of the remaining text, so stack traces stay exact.
 * Called by `assemble`.
 */
import { type ClassNode, type Code, type FunctionNode, NO_REF, type Ref } from "../graph.ts";
import type { Range } from "./parse-text.ts";
import { expandPositions, type Segment } from "../reviving/positions.ts";

/** Names that evaluated texts use to reach the reviver. Unlikely enough to hide no user's variable. */
export const NAMES = {
  value: "$shoal_value",
  define: "$shoal_define",
  late: "$shoal_late",
  accessor: "$shoal_accessor",
  blank: "$shoal_blank",
  privates: "$shoal_privates",
} as const;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A piece of text with its known origins. */
export interface MappedText {
  readonly text: string;
  readonly segments: readonly Segment[];
}

/** The text of a function as an expression: that of an arrow where `this` is the instance that it closes over. */
export function functionExpression({ code, self }: FunctionNode): MappedText {
  const expression = aloneExpression(code);
  if (self === undefined) return expression;
  return surround(expression, "(function () { return ", `; }).call(${NAMES.value}(${self}))`);
}

function aloneExpression(code: Code): MappedText {
  const edits = readEdits(code, code.keyRange === null ? [] : [code.keyRange]);
  if (code.form === "expression" || !code.keyRange) return applyEdits(code, edits);
  const [start, end] = code.keyRange;
  // Minified text has no space before a computed name: `get[name]()`.
  edits.push({ start, end, text: (end - start > 1 ? " _" : "_").padEnd(end - start) });
  const method = applyEdits(code, edits);
  return code.accessor ? surround(method, `${NAMES.accessor}({`, `\n}, "${code.accessor}")`) : surround(method, "({", "\n})._");
}

/** The text of a class as an expression; `ref` is the number under which it introduces itself. */
export function classExpression(node: ClassNode, ref: Ref): MappedText {
  const { code } = node;
  const keys = node.members.flatMap((member, index) => (member?.keyRange ? [{ ...member, range: member.keyRange, index }] : []));
  const replaced = [...node.staticParts, ...keys.map(({ range }) => range)];
  const edits = readEdits(code, replaced);
  const blank = (start: number, end: number): string => code.text.slice(start, end).replace(/[^\r\n]/g, " ");
  if (node.heritageRange) {
    const [start, end] = node.heritageRange;
    const heritage = node.heritage === null || node.heritage < 0 ? "null" : `${NAMES.value}(${node.heritage})`;
    const kept = edits.filter((edit) => edit.start < start || edit.start >= end);
    edits.splice(0, edits.length, ...kept, { start, end, text: ` ${heritage}${blank(start, end)}` });
  }
  for (const { range, name, index } of keys) {
    const [start, end] = range;
    const key = name === NO_REF ? JSON.stringify(placeholderKey(index)) : `${NAMES.value}(${name})`;
    edits.push({ start, end, text: key + code.text.slice(start, end).replace(/[^\r\n]+/g, "") });
  }
  for (const [start, end] of node.staticParts) edits.push({ start, end, text: blank(start, end) });
  if (node.constructsBlank) edits.push(...blankConstructionEdits(node));
  if (node.hasPrivateNames) edits.push({ start: node.bodyEnd, end: node.bodyEnd, text: privateDoor(node, ref) });
  return applyEdits(code, edits);
}

/** Temporary name for a method whose own name is no longer known; it is removed from the class at once. */
export function placeholderKey(index: number): string {
  return `$shoal_gone${index}`;
}

export function surround({ text, segments }: MappedText, prefix: string, suffix: string): MappedText {
  return {
    text: prefix + text + suffix,
    segments: segments.map((segment) => ({ ...segment, offset: segment.offset + prefix.length })),
  };
}

/** Edits names that the text has to read in another way, outside of ranges that are replaced as a whole. */
function readEdits({ importMeta, liveReads = [] }: Code, replaced: readonly Range[]): Edit[] {
  const edits = [
    ...importMeta.map(([start, end]) => ({ start, end, text: "import_meta" })),
    ...liveReads.map(([start, end, text]) => ({ start, end, text })),
  ];
  return edits.filter(({ start }) => !replaced.some((part) => start >= part[0] && start < part[1]));
}

function blankConstructionEdits({ fieldInitializers, constructorBodyStart, heritageRange }: ClassNode): Edit[] {
  const edits: Edit[] = [];
  for (const [start, end] of fieldInitializers) {
    edits.push({ start, end: start, text: `(${NAMES.blank}.on ? void 0 : (` }, { start: end, end, text: "))" });
  }
  if (constructorBodyStart !== null) {
    const leave = heritageRange ? "{ super(); return; }" : "return;";
    edits.push({ start: constructorBodyStart, end: constructorBodyStart, text: `if (${NAMES.blank}.on) ${leave}` });
  }
  return edits;
}

/** A static block that hands out setters for the private fields and an evaluator inside the class. */
function privateDoor({ privateFields, privateStaticFields }: ClassNode, ref: Ref): string {
  const cases = (names: readonly string[], owner: string): string =>
    names.map((name) => `case "${name}": ${owner}.${name} = value; break;`).join(" ");
  return (
    `;static { ${NAMES.privates}(${ref}, { ` +
    `setInstance: (object, name, value) => { switch (name) { ${cases(privateFields, "object")} } }, ` +
    `setStatic: (name, value) => { switch (name) { ${cases(privateStaticFields, "this")} } }, ` +
    "evaluate: ($shoal_text) => eval($shoal_text) }); }"
  );
}

/** Applies edits that do not overlap, and moves the mapped places along. */
function applyEdits(code: Code, edits: Edit[]): MappedText {
  const sorted = edits.sort((left, right) => left.start - right.start || left.end - right.end);
  const pieces: string[] = [];
  const segments: Segment[] = [];
  const mapped = code.positions ? expandPositions(code.text, code.positions) : [];
  let next = 0;
  let length = 0;
  let from = 0;
  const keep = (to: number): void => {
    pieces.push(code.text.slice(from, to));
    for (; next < mapped.length && (mapped[next] as Segment).offset < to; next++) {
      const segment = mapped[next] as Segment;
      if (segment.offset >= from) segments.push({ ...segment, offset: segment.offset - from + length });
    }
    length += to - from;
  };
  for (const edit of sorted) {
    keep(edit.start);
    const at = mapped[next];
    if (at?.offset === edit.start && edit.end > edit.start) segments.push({ ...at, offset: length });
    pieces.push(edit.text);
    length += edit.text.length;
    from = edit.end;
  }
  keep(code.text.length);
  return { text: pieces.join(""), segments };
}
