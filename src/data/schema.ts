/** The schema of a dataset, which `schema()` returns: the names and types of its columns. */
import { type Field, typeName } from "./blocks/data-type.ts";

export class Schema {
  /** The names of the columns, in their order. */
  readonly names: readonly string[];
  /** The types of the columns, such as `int64` or `list<string>`. */
  readonly types: readonly string[];

  constructor(fields: readonly Field[]) {
    this.names = fields.map(({ name }) => name);
    this.types = fields.map(({ type }) => typeName(type));
  }

  /** A column a line. */
  toString(): string {
    const width = Math.max(6, ...this.names.map((name) => name.length));
    return [`${"column".padEnd(width)}  type`, ...this.names.map((name, i) => `${name.padEnd(width)}  ${this.types[i]}`)].join("\n");
  }

  get [Symbol.toStringTag](): string {
    return "Schema";
  }
}

Object.defineProperty(Schema.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: Schema): string {
    return this.toString();
  },
});
