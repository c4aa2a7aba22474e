/**
 * Writes one text for each source file of a graph: captured variables as constants around the functions and classes that use them.
 *
 * Decides the layout: top-level variables at the top level of the text, captured variables of enclosing calls in blocks. Only variables
 * that shipped code assigns are variables, the rest are constants, as the engine folds constants into loops (a loop over a captured
 * `let` took 2.3 times as long). The text is a generator, so that texts which need each other's classes can take turns.
 * Called by `revive`; runs nothing.
 */
import { classExpression, functionExpression, type MappedText, NAMES } from "../parsing/code-edits.ts";
import type { CodeNode, CodeUnit, EvaluationPlan, Unit } from "./evaluation-plan.ts";
import type { Graph, Ref, Variable } from "../graph.ts";
import type { Segment } from "./positions.ts";

interface Assembly {
  /** By source, the body of the generator function. */
  readonly texts: ReadonlyMap<number, MappedText>;
  /** Text to run next: one entry for each stretch between two yields. */
  readonly turns: readonly number[];
}

export function assemble(graph: Graph, plan: EvaluationPlan): Assembly {
  const writers = new Map<number, TextWriter>();
  const turns: number[] = [];
  const done = new Set<Unit>();
  for (const unit of plan.order) {
    let writer = writers.get(unit.source);
    if (!writer) {
      writer = new TextWriter(graph, plan, done);
      writers.set(unit.source, writer);
    }
    if (turns.at(-1) !== unit.source) {
      if (turns.includes(unit.source)) writer.line("yield;");
      turns.push(unit.source);
    }
    writer.write(unit);
    done.add(unit);
  }
  return { texts: writers, turns };
}

/** The text of one source, unit by unit. */
class TextWriter implements MappedText {
  readonly segments: Segment[] = [];
  text = "";
  readonly #graph: Graph;
  readonly #plan: EvaluationPlan;
  readonly #done: ReadonlySet<Unit>;

  constructor(graph: Graph, plan: EvaluationPlan, done: ReadonlySet<Unit>) {
    this.#graph = graph;
    this.#plan = plan;
    this.#done = done;
  }

  line(text: string): void {
    this.text += `${text}\n`;
  }

  /** `before`, then a mapped expression, then `after` and the end of the line. */
  #mapped(before: string, { text, segments }: MappedText, after: string): void {
    const offset = this.text.length + before.length;
    for (const segment of segments) this.segments.push({ ...segment, offset: segment.offset + offset });
    this.line(before + text + after);
  }

  write(unit: Unit): void {
    if (unit.kind === "variable") this.#declare(unit.variable, null);
    else if (unit.declaration) this.#defineAs(unit.declaration, unit.members[0] as Ref);
    else if (unit.context !== null) this.#writeContext(unit, unit.context);
    else this.#writeBlock(unit, unit.members);
  }

  #code(ref: Ref): CodeNode {
    return this.#graph.nodes[ref] as CodeNode;
  }

  /** Whether a node can be made now. Inside a unit, other members of the unit may count as ready. */
  #isReady(ref: Ref, within: Unit | null): boolean {
    for (const need of this.#plan.needsOf(ref)) if (need !== within && !this.#done.has(need)) return false;
    return true;
  }

  #declare([name, value, isWritten]: Variable, within: Unit | null): void {
    if (this.#isReady(value, within)) {
      this.line(`${isWritten ? "let" : "const"} ${name} = ${NAMES.value}(${value});`);
    } else {
      this.line(`let ${name}; ${NAMES.late}(() => { ${name} = ${NAMES.value}(${value}); });`);
    }
  }

  #defineAs([name, , isWritten]: Variable, ref: Ref): void {
    this.#mapped(`${isWritten ? "let" : "const"} ${name} = `, this.#expression(ref), `; ${NAMES.define}(${ref}, ${name});`);
  }

  #define(ref: Ref): void {
    this.#mapped(`${NAMES.define}(${ref}, `, this.#expression(ref), ");");
  }

  #expression(ref: Ref): MappedText {
    const node = this.#code(ref);
    return node.kind === "class" ? classExpression(node, ref) : functionExpression(node);
  }

  /** Writes members that share a block: ready nodes first, then the members, then the nodes that needed a member. */
  #writeBlock(unit: CodeUnit, members: readonly Ref[]): void {
    const variables = new Map<string, Variable>();
    for (const ref of members) for (const variable of this.#code(ref).code.locals) variables.set(variable[0], variable);
    const names = new Map<Ref, Variable>();
    const early: Variable[] = [];
    const afterwards: Variable[] = [];
    for (const variable of variables.values()) {
      const [, value] = variable;
      if (members.includes(value) && !names.has(value)) names.set(value, variable);
      else (this.#isReady(value, null) ? early : afterwards).push(variable);
    }
    if (variables.size > 0) this.line("{");
    for (const variable of early) this.#declare(variable, null);
    for (const ref of this.#inOrder(members)) {
      const variable = names.get(ref);
      if (variable) this.#defineAs(variable, ref);
      else this.#define(ref);
    }
    for (const variable of afterwards) this.#declare(variable, unit);
    if (variables.size > 0) this.line("}");
  }

  /** Functions, then classes (each after the one that it extends), then arrows over an instance. */
  #inOrder(members: readonly Ref[]): Ref[] {
    const rank = (ref: Ref): number => {
      const node = this.#code(ref);
      if (node.kind === "function") return node.self === undefined ? 0 : Number.MAX_SAFE_INTEGER;
      let depth = 1;
      for (let at: Ref | null = node.heritage; at !== null && at >= 0 && members.includes(at); depth++) {
        const parent = this.#code(at);
        at = parent.kind === "class" ? parent.heritage : null;
      }
      return depth;
    };
    return [...members].sort((left, right) => rank(left) - rank(right));
  }

  /** Variables that several members share, in nested blocks as the scopes were. */
  #writeContext(unit: CodeUnit, context: number): void {
    this.line("{");
    for (const variable of this.#graph.contexts[context]?.variables ?? []) this.#declare(variable, null);
    for (const ref of unit.members) {
      if (this.#code(ref).code.context === context) this.#writeBlock(unit, [ref]);
    }
    for (const [inner, { parent }] of this.#graph.contexts.entries()) {
      if (parent === context) this.#writeContext(unit, inner);
    }
    this.line("}");
  }
}
