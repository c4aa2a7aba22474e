"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.assemble = assemble;
exports.withSelf = withSelf;
/**
 * One text for each source file of a graph: its captured variables as constants around its functions and classes.
 *
 * Decides the layout: top-level variables at the top level of the text, captured variables of enclosing calls in blocks. Only variables
 * that shipped code assigns are variables, the rest are constants, as the engine folds constants into loops (a loop over a captured
 * `let` took 2.3 times as long). The text is a generator, so that texts which need each other's classes can take turns.
 * Called by `revive`; runs nothing.
 */
const code_edits_ts_1 = require("./code-edits.js");
function assemble(graph, plan) {
  const writers = new Map();
  const turns = [];
  const done = new Set();
  for (const unit of plan.order) {
    let writer = writers.get(unit.source);
    if (!writer) {
      writer = new TextWriter();
      writers.set(unit.source, writer);
    }
    if (turns.at(-1) !== unit.source) {
      if (turns.includes(unit.source)) writer.line("yield;");
      turns.push(unit.source);
    }
    new UnitWriter({ graph, plan, writer, done }).write(unit);
    done.add(unit);
  }
  const texts = [...writers].map(([source, { text, segments }]) => ({ source, text, segments }));
  return { texts, turns };
}
class TextWriter {
  segments = [];
  #text = "";
  get text() {
    return this.#text;
  }
  line(text) {
    this.#text += `${text}\n`;
  }
  /** `before`, then a mapped expression, then `after` and the end of the line. */
  expression(before, { text, segments }, after) {
    const offset = this.#text.length + before.length;
    for (const segment of segments) this.segments.push({ ...segment, offset: segment.offset + offset });
    this.#text += `${before}${text}${after}\n`;
  }
}
class UnitWriter {
  #graph;
  #plan;
  #writer;
  #done;
  constructor({ graph, plan, writer, done }) {
    this.#graph = graph;
    this.#plan = plan;
    this.#writer = writer;
    this.#done = done;
  }
  write(unit) {
    if (unit.kind === "variable") this.#declare(unit.variable, null);
    else if (unit.declaration) this.#defineAs(unit.declaration, unit.members[0]);
    else if (unit.context !== null) this.#writeContext(unit, unit.context);
    else this.#writeBlock(unit, unit.members);
  }
  #code(ref) {
    return this.#graph.nodes[ref];
  }
  /** Whether a node can be made by now; inside a unit, what is needed of the unit itself may count as there. */
  #isReady(ref, within) {
    for (const need of this.#plan.needsOf(ref)) if (need !== within && !this.#done.has(need)) return false;
    return true;
  }
  #declare([name, value, isWritten], within) {
    if (this.#isReady(value, within)) {
      this.#writer.line(`${isWritten ? "let" : "const"} ${name} = ${code_edits_ts_1.NAMES.value}(${value});`);
    } else {
      this.#writer.line(`let ${name}; ${code_edits_ts_1.NAMES.late}(() => { ${name} = ${code_edits_ts_1.NAMES.value}(${value}); });`);
    }
  }
  #defineAs([name, , isWritten], ref) {
    this.#writer.expression(
      `${isWritten ? "let" : "const"} ${name} = `,
      this.#expression(ref),
      `; ${code_edits_ts_1.NAMES.define}(${ref}, ${name});`,
    );
  }
  #define(ref) {
    this.#writer.expression(`${code_edits_ts_1.NAMES.define}(${ref}, `, this.#expression(ref), ");");
  }
  #expression(ref) {
    const node = this.#code(ref);
    if (node.kind === "class") return (0, code_edits_ts_1.classExpression)(node, ref);
    const expression = (0, code_edits_ts_1.functionExpression)(node.code);
    return node.self === undefined ? expression : withSelf(expression, node.self);
  }
  /** Members that share a block: what is ready, then the members, then what needed them. */
  #writeBlock(unit, members) {
    const variables = new Map();
    for (const ref of members) for (const variable of this.#code(ref).code.locals) variables.set(variable[0], variable);
    const names = new Map();
    const early = [];
    const afterwards = [];
    for (const variable of variables.values()) {
      const [, value] = variable;
      if (members.includes(value) && !names.has(value)) names.set(value, variable);
      else (this.#isReady(value, null) ? early : afterwards).push(variable);
    }
    if (variables.size > 0) this.#writer.line("{");
    for (const variable of early) this.#declare(variable, null);
    for (const ref of this.#inOrder(members)) {
      const variable = names.get(ref);
      if (variable) this.#defineAs(variable, ref);
      else this.#define(ref);
    }
    for (const variable of afterwards) this.#declare(variable, unit);
    if (variables.size > 0) this.#writer.line("}");
  }
  /** Functions, then classes (each after the one that it extends), then arrows over an instance. */
  #inOrder(members) {
    const rank = (ref) => {
      const node = this.#code(ref);
      if (node.kind === "function") return node.self === undefined ? 0 : Number.POSITIVE_INFINITY;
      let depth = 1;
      for (let at = node.heritage; at !== null && at >= 0 && members.includes(at); depth++) {
        const parent = this.#code(at);
        at = parent.kind === "class" ? parent.heritage : null;
      }
      return depth;
    };
    return [...members].sort((left, right) => compare(rank(left), rank(right)));
  }
  /** Variables that several members share, in nested blocks as the scopes were. */
  #writeContext(unit, context) {
    this.#writer.line("{");
    for (const variable of this.#graph.contexts[context]?.variables ?? []) this.#declare(variable, null);
    for (const ref of unit.members) {
      if (this.#code(ref).code.context === context) this.#writeBlock(unit, [ref]);
    }
    for (const [inner, { parent }] of this.#graph.contexts.entries()) {
      if (parent === context) this.#writeContext(unit, inner);
    }
    this.#writer.line("}");
  }
}
/** Evaluates an arrow function where `this` is the instance that it closes over. */
function withSelf(expression, self) {
  return (0, code_edits_ts_1.surround)(expression, "(function () { return ", `; }).call(${code_edits_ts_1.NAMES.value}(${self}))`);
}
function compare(left, right) {
  return left === right ? 0 : left < right ? -1 : 1;
}
//# sourceMappingURL=assemble.js.map
