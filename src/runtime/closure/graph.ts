/**
 * The plain-data form of captured values: a list of nodes that refer to each other by index.
 *
 * Defines the shape that capture writes and revival reads; the value codec turns it into bytes. The list is flat: a linked list of 10,000
 * instances is 10,000 nodes, not 10,000 levels. Invariant: everything here is data (strings, numbers, arrays, plain objects, and in `data`
 * nodes any value that the codec carries), so decoding a graph runs no code.
 */
import type { Interop } from "./parsing/import-forms.ts";
import type { BuiltinPath } from "./values/known-values.ts";
import type { ClassLayout, Range, TextForm } from "./parsing/parse-text.ts";
import type { TextPositions } from "./reviving/positions.ts";
import type { WellKnownMembers } from "./values/well-known.ts";

/** Raised with every incompatible change: a stale worker must refuse, not guess. */
export const GRAPH_VERSION = 2;

/** Index of a node. */
export type Ref = number;

export interface Graph {
  readonly version: number;
  /** The working directory of the process that captured: file names below it can be moved to where a worker keeps a copy. */
  readonly base: string;
  readonly root: Ref;
  readonly nodes: Node[];
  readonly sources: Source[];
  readonly contexts: SharedContext[];
}

export const ENUMERABLE = 1;
export const CONFIGURABLE = 2;
export const WRITABLE = 4;
export const ACCESSOR = 8;
/** Stands for a getter or setter that is not there. */
export const NO_REF: Ref = -1;

/** A property: a name or the node of a symbol, flags, then a value or a getter and a setter. */
export type Property = readonly [key: string | Ref, flags: number, valueOrGetter: Ref, setter?: Ref];

/** A captured variable. Only variables that shipped code assigns are variables on the worker too; the rest become constants. */
export type Variable = readonly [name: string, value: Ref, isWritten: boolean];

/** One file, or text without a file. */
export interface SourcePlace {
  readonly file: string | null;
  readonly format: "esm" | "commonjs";
  readonly isStrict: boolean;
}

/** A source whose top level is rebuilt on the worker. */
interface Source extends SourcePlace {
  readonly variables: Variable[];
}

/** Variables of an enclosing call that several shipped closures share and at least one writes. */
export interface SharedContext {
  readonly variables: Variable[];
  /** Index of the shared context around this one. */
  readonly parent: number | null;
}

/** A use of an import in a text, and the text that takes its place: a member of the module. */
type LiveRead = readonly [start: number, end: number, text: string];

/** The text of a function or class with its context. */
export interface Code {
  readonly name: string;
  readonly text: string;
  readonly form: TextForm;
  readonly importMeta: readonly Range[];
  /** Absent if empty. */
  liveReads?: LiveRead[];
  readonly keyRange: Range | null;
  readonly accessor: "get" | "set" | null;
  readonly positions: TextPositions | null;
  readonly source: number;
  /** Captured variables of enclosing calls and blocks. */
  readonly locals: Variable[];
  /** The innermost shared context around the code. */
  context: number | null;
}

export interface FunctionNode {
  readonly kind: "function";
  readonly code: Code;
  /** The class inside whose text it is evaluated, for its private names. */
  home?: Ref;
  /** The `this` that an arrow function closes over. */
  self?: Ref;
  properties?: Property[];
  /** Set for a `function` that is used as a constructor. */
  prototypeProperties?: Property[];
  prototypeParent?: Ref;
  identity?: string;
}

/**
 * A member's name: a string that the text spells out, or the node of a computed name. `NO_REF`: a method that no property holds any longer.
 */
export type MemberName = string | Ref;

export interface ClassMember {
  /** Kind of property that the member defines: `null` for a field. */
  readonly part: "value" | "get" | "set" | null;
  readonly isStatic: boolean;
  readonly name: MemberName;
  /** Range between the brackets of a computed name. */
  readonly keyRange: Range | null;
}

/** Changes to the class or its prototype since its text was evaluated. */
export interface ClassSide {
  /** Properties that differ from the text. */
  properties: Property[];
  removed: MemberName[];
  /** Set if the parent differs from the text; `NO_REF` for none. */
  parent?: Ref;
  isClosed?: true;
}

export interface ClassNode extends ClassLayout {
  readonly kind: "class";
  readonly code: Code;
  readonly identity: string;
  /** `null` without `extends`, `NO_REF` for `extends null`. */
  heritage: Ref | null;
  /**
   * Whether the class, or an ancestor shipped by value, has private fields. Instances are then made by the constructor with its body
   * switched off.
   */
  constructsBlank: boolean;
  readonly members: readonly (ClassMember | null)[];
  readonly statics: ClassSide;
  readonly prototype: ClassSide;
  privateStatics: (readonly [name: string, value: Ref])[];
}

/** Kind of object underneath, independent of the prototype. */
export type ObjectBase = "Object" | "Array" | "Map" | "Set" | "Error" | "Date" | "RegExp" | "data";

export interface ObjectNode {
  readonly kind: "object";
  readonly base: ObjectBase;
  /** Absent: the base's own prototype. `NO_REF`: none. */
  prototype?: Ref;
  properties: Property[];
  /** Length of an Array. */
  length?: number;
  /** Entries of a Map (pairs, flattened) or a Set. */
  entries?: Ref[];
  /** A Date's milliseconds, a RegExp's source, flags and lastIndex, or the buffer or view itself. */
  data?: unknown;
  /** Whether the object takes no further properties: frozen, sealed or made non-extensible. */
  isClosed?: true;
  /** Private fields, base class first. */
  privateFields?: (readonly [name: string, value: Ref])[];
}

/** A binding that an `import` or `require` of the source made. */
export interface ImportNode {
  readonly kind: "import";
  readonly source: number;
  readonly specifier: string;
  readonly path: readonly string[];
  /** The name stands for the present value of the module's export (`Code.liveReads`), unless it held a function at capture. */
  readonly isLive?: true;
  readonly attributes?: Readonly<Record<string, string>>;
}

export interface RequireNode {
  readonly kind: "require";
  readonly source: number;
  readonly specifier: string;
  readonly path: readonly string[];
  readonly interop?: Interop;
  readonly isNodeMode?: boolean;
}

/** Names that the loader puts into a module's scope. */
type LoaderNode =
  | { readonly kind: "importMeta"; readonly source: number; readonly env?: Readonly<Record<string, unknown>> }
  | { readonly kind: "dynamicImport"; readonly source: number; readonly root: string }
  | { readonly kind: "requireFunction"; readonly source: number };

export type BindingNode = ImportNode | RequireNode | LoaderNode;

export type Node =
  | { readonly kind: "data"; readonly value: unknown }
  | ObjectNode
  | FunctionNode
  | ClassNode
  | BindingNode
  | { readonly kind: "prototype"; of: Ref }
  /** A method or accessor that the text of a class makes, by its index there. */
  | { readonly kind: "member"; readonly of: Ref; readonly index: number; readonly name: string }
  /** An export of a file, by reference. */
  | { readonly kind: "module"; readonly file: string; readonly query: string; readonly name: string }
  | { readonly kind: "commonJs"; readonly file: string; readonly name: string | null }
  | { readonly kind: "builtin"; readonly path: BuiltinPath; readonly isNamespace: boolean }
  | { readonly kind: "global"; readonly path: string }
  | { readonly kind: "registeredSymbol"; readonly key: string }
  | { readonly kind: "wellKnownSymbol"; readonly name: string }
  | { readonly kind: "uniqueSymbol"; readonly identity: string; readonly description: string | null }
  | { readonly kind: "wellKnown"; readonly id: string }
  /** The runtime's own module, in any import form. */
  | { readonly kind: "wellKnownModule"; readonly members: WellKnownMembers }
  /** An object as a hook reduced it. */
  | { readonly kind: "reduced"; readonly reducer: number; payload: Ref }
  | { readonly kind: "bound"; target: Ref; self: Ref; arguments: Ref[] }
  | { readonly kind: "proxy"; target: Ref; handler: Ref }
  | { readonly kind: "url"; readonly href: string }
  | { readonly kind: "weakMap" | "weakSet"; readonly identity: string; entries: Ref[] }
  /** A class from its own definition, or from one that contains it. */
  | { readonly kind: "definition"; readonly definition: string; readonly identity: string };
