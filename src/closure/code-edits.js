"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.NAMES = void 0;
exports.functionExpression = functionExpression;
exports.classExpression = classExpression;
exports.surround = surround;
const positions_ts_1 = require("./positions.js");
/** Names that evaluated texts use to reach the reviver. Unlikely enough to hide no user's variable. */
exports.NAMES = {
  value: "$shoal_value",
  define: "$shoal_define",
  late: "$shoal_late",
  accessor: "$shoal_accessor",
  blank: "$shoal_blank",
  privates: "$shoal_privates",
};
/** The text as an expression that yields the function. */
function functionExpression(code) {
  const edits = importMetaEdits(code);
  if (code.form === "expression" || !code.keyRange) return applyEdits(code, edits);
  const [start, end] = code.keyRange;
  edits.push({ start, end, text: "_".padEnd(end - start) });
  const method = applyEdits(code, edits);
  return code.accessor ? surround(method, `${exports.NAMES.accessor}({`, `\n}, "${code.accessor}")`) : surround(method, "({", "\n})._");
}
/** The text of a class as an expression; `ref` is the number under which it introduces itself. */
function classExpression(node, ref) {
  const { code } = node;
  const edits = importMetaEdits(code).filter(({ start }) => !node.staticParts.some((part) => start >= part[0] && start < part[1]));
  const blank = (start, end) => code.text.slice(start, end).replace(/[^\r\n]/g, " ");
  if (node.heritageRange) {
    const [start, end] = node.heritageRange;
    const heritage = node.heritage === null || node.heritage < 0 ? "null" : `${exports.NAMES.value}(${node.heritage})`;
    const kept = edits.filter((edit) => edit.start < start || edit.start >= end);
    edits.splice(0, edits.length, ...kept, { start, end, text: ` ${heritage}${blank(start, end)}` });
  }
  for (const [start, end] of node.staticParts) edits.push({ start, end, text: blank(start, end) });
  if (node.constructsBlank) edits.push(...blankConstructionEdits(node));
  if (node.hasPrivateNames) edits.push({ start: node.bodyEnd, end: node.bodyEnd, text: privateDoor(node, ref) });
  return applyEdits(code, edits);
}
function surround({ text, segments }, prefix, suffix) {
  return {
    text: prefix + text + suffix,
    segments: segments.map((segment) => ({ ...segment, offset: segment.offset + prefix.length })),
  };
}
function importMetaEdits({ importMeta }) {
  return importMeta.map(([start, end]) => ({ start, end, text: "import_meta" }));
}
function blankConstructionEdits({ fieldInitializers, constructorBodyStart, heritageRange }) {
  const edits = [];
  for (const [start, end] of fieldInitializers) {
    edits.push({ start, end: start, text: `(${exports.NAMES.blank}.on ? void 0 : (` }, { start: end, end, text: "))" });
  }
  if (constructorBodyStart !== null) {
    const leave = heritageRange ? "{ super(); return; }" : "return;";
    edits.push({ start: constructorBodyStart, end: constructorBodyStart, text: `if (${exports.NAMES.blank}.on) ${leave}` });
  }
  return edits;
}
/** A static block that hands out setters for the private fields and an evaluator inside the class. */
function privateDoor({ privateFields, privateStaticFields }, ref) {
  const cases = (names, owner) => names.map((name) => `case "${name}": ${owner}.${name} = value; break;`).join(" ");
  return (
    `;static { ${exports.NAMES.privates}(${ref}, ` +
    `(object, name, value) => { switch (name) { ${cases(privateFields, "object")} } }, ` +
    `(name, value) => { switch (name) { ${cases(privateStaticFields, "this")} } }, ` +
    "($shoal_text) => eval($shoal_text)); }"
  );
}
/** Applies edits that do not overlap, and moves the mapped places along. */
function applyEdits(code, edits) {
  const sorted = edits.sort((left, right) => left.start - right.start || left.end - right.end);
  const pieces = [];
  const segments = [];
  const mapped = code.positions ? (0, positions_ts_1.expandPositions)(code.text, code.positions) : [];
  let next = 0;
  let length = 0;
  let from = 0;
  const keep = (to) => {
    pieces.push(code.text.slice(from, to));
    for (; next < mapped.length && mapped[next].offset < to; next++) {
      const segment = mapped[next];
      if (segment.offset >= from) segments.push({ ...segment, offset: segment.offset - from + length });
    }
    length += to - from;
  };
  for (const edit of sorted) {
    keep(edit.start);
    pieces.push(edit.text);
    length += edit.text.length;
    from = edit.end;
  }
  keep(code.text.length);
  return { text: pieces.join(""), segments };
}
//# sourceMappingURL=code-edits.js.map
