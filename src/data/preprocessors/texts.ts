/**
 * Texts as numbers: words, and how often each comes, by a vocabulary or by a hash.
 *
 * Values are those of Ray 2.60, so its hash is ours: the remainder of SHA-256.
 * A missing text has no vector, as zeros would say that no word of the vocabulary is in it.
 */
import { count, custom, describeValue, readOptions, sha256Hex } from "../../core/internal.ts";
import { NdArray } from "../../core/index.ts";
import { isNullish } from "../blocks/vector-builder.ts";
import { DataError } from "../errors.ts";
import { countKey, counting, type Counts } from "./counts.ts";
import { checkColumns, type ColumnOptions, COLUMNS, compareCategories, numberOrNull, OUTPUT_COLUMNS, pairsOf } from "./columns.ts";
import {
  type Aggregates,
  type Columns,
  definePreprocessor,
  Preprocessor,
  type ReadColumn,
  type State,
  type Values,
} from "./preprocessor.ts";

/** Cuts a text into words. */
export type Tokenize = (text: string) => readonly string[];

/** The options of `Tokenizer`. */
export interface TokenizerOptions extends ColumnOptions {
  /** Cuts a text into words. A preprocessor with a function cannot be written as JSON. Default: cuts at each space. */
  tokenize?: Tokenize | undefined;
}

const TOKENIZE = custom<Tokenize | undefined>("a function from a text to its words is needed", undefined, (value) =>
  typeof value === "function" ? "ok" : "wrong type",
);
const OPTIONS = { columns: COLUMNS, outputColumns: OUTPUT_COLUMNS, tokenize: TOKENIZE };

/** @throws DataError for a value that is no text */
function wordsOf(value: unknown, column: string, tokenize: Tokenize | undefined): readonly string[] {
  if (isNullish(value)) return [];
  if (typeof value !== "string") throw new DataError(`Column ${JSON.stringify(column)} has ${describeValue(value)} where a text is needed`);
  return tokenize === undefined ? value.split(" ") : tokenize(value);
}

/** Each text becomes a list of words. Learns nothing. */
export class Tokenizer extends Preprocessor {
  readonly kind = "Tokenizer";
  declare readonly options: TokenizerOptions & Readonly<Record<string, unknown>>;

  constructor(options: TokenizerOptions) {
    super(readOptions(options, { of: "Tokenizer", options: OPTIONS }));
    checkColumns("Tokenizer", this.options);
  }

  protected override apply(read: ReadColumn): Columns {
    const { tokenize } = this.options;
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => [
        to,
        Array.from(read(from), (value) => (isNullish(value) ? null : [...wordsOf(value, from, tokenize)])),
      ]),
    );
  }
}

/** The options of `CountVectorizer`. */
export interface CountVectorizerOptions extends TokenizerOptions {
  /** The most words of a column's vocabulary: the most frequent are kept. Default: all. */
  maxFeatures?: number | undefined;
}

export function countWords(column: string, tokenize: Tokenize | undefined, counts: Counts, row: Readonly<Record<string, unknown>>): Counts {
  for (const word of wordsOf(row[column], column, tokenize)) countKey(counts, word, 1);
  return counts;
}

/** Each text becomes a vector with the number of each word of the vocabulary, the most frequent word first, as a tensor of int32. */
export class CountVectorizer extends Preprocessor {
  readonly kind = "CountVectorizer";
  declare readonly options: CountVectorizerOptions & Readonly<Record<string, unknown>>;

  constructor(options: CountVectorizerOptions) {
    super(readOptions(options, { of: "CountVectorizer", options: { ...OPTIONS, maxFeatures: count({ min: 1 }, undefined) } }));
    checkColumns("CountVectorizer", this.options);
  }

  protected override aggregates(): Aggregates {
    const { columns, tokenize } = this.options;
    return Object.fromEntries(columns.map((column, i) => [`words ${i}`, counting(countWords.bind(undefined, column, tokenize))]));
  }

  protected override learn(results: Readonly<Record<string, any>>): State {
    const words = this.options.columns.map((column, i) => {
      const { keys, counts } = results[`words ${i}`] as Counts;
      const counted = Array.from(keys, (word, place) => [word, counts[place] as number] as const);
      // Equally frequent words go by code point.
      const byCount = counted.sort(([a, m], [b, n]) => n - m || compareCategories(a, b));
      return [column, byCount.slice(0, this.options.maxFeatures).map(([word]) => word)];
    });
    return { words: Object.fromEntries(words) };
  }

  protected override apply(read: ReadColumn): Columns {
    const all = (this.state as { words: Record<string, string[]> }).words;
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => {
        const places = new Map((all[from] as string[]).map((word, place) => [word, place]));
        return [
          to,
          countsByPlace(read(from), places.size, (value) => wordsOf(value, from, this.options.tokenize).map((word) => places.get(word))),
        ];
      }),
    );
  }
}

/** A vector of counts a row. A missing text has none: zeros would say that it has no word of the vocabulary. */
function countsByPlace(values: Values, width: number, placesOf: (value: unknown) => (number | undefined)[]): (NdArray | null)[] {
  return Array.from(values, (value) => {
    if (isNullish(value)) return null;
    const counts = new Int32Array(width);
    for (const place of placesOf(value)) if (place !== undefined) (counts[place] as number) += 1;
    return new NdArray(counts, [width]);
  });
}

/** The remainder of the SHA-256 of a text, as in Ray: the same in every process and language. */
function placeByHash(text: string, numFeatures: number): number {
  return Number(BigInt(`0x${sha256Hex(text)}`) % BigInt(numFeatures));
}

const FEATURES_MAX = 2 ** 20;
const NUM_FEATURES = count({ min: 1, max: FEATURES_MAX }, undefined);

/** The options of `HashingVectorizer`. */
export interface HashingVectorizerOptions extends TokenizerOptions {
  /** The length of the vectors. */
  numFeatures: number;
}

/** Each text becomes a vector that counts words at their hashes, as a tensor of int32. Learns nothing, and has no vocabulary to keep. */
export class HashingVectorizer extends Preprocessor {
  readonly kind = "HashingVectorizer";
  declare readonly options: TokenizerOptions & { readonly numFeatures: number } & Readonly<Record<string, unknown>>;

  constructor(options: HashingVectorizerOptions) {
    super(readOptions(options, { of: "HashingVectorizer", options: { ...OPTIONS, numFeatures: NUM_FEATURES } }));
    checkColumns("HashingVectorizer", this.options);
    if (this.options.numFeatures === undefined)
      throw new TypeError("Cannot make HashingVectorizer: it takes numFeatures: a whole number from 1: received none");
  }

  protected override apply(read: ReadColumn): Columns {
    const { numFeatures, tokenize } = this.options;
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => [
        to,
        countsByPlace(read(from), numFeatures, (value) => wordsOf(value, from, tokenize).map((word) => placeByHash(word, numFeatures))),
      ]),
    );
  }
}

/** The options of `FeatureHasher`. */
export interface FeatureHasherOptions {
  /** Columns of numbers, such as counts of words: the hash of a name is its place. */
  columns: readonly string[];
  /** The length of the vectors. */
  numFeatures: number;
  /** The name of the column with the vectors. */
  outputColumn: string;
}

/** The numbers of several columns become a vector, each added at the hash of the column's name, as a tensor of float64. Learns nothing. */
export class FeatureHasher extends Preprocessor {
  readonly kind = "FeatureHasher";
  declare readonly options: FeatureHasherOptions & Readonly<Record<string, unknown>>;

  constructor(options: FeatureHasherOptions) {
    const outputColumn = custom<string | undefined>("the name of a column is needed", undefined, (value) =>
      typeof value === "string" && value !== "" ? "ok" : "wrong type",
    );
    super(readOptions(options, { of: "FeatureHasher", options: { columns: COLUMNS, numFeatures: NUM_FEATURES, outputColumn } }));
    checkColumns("FeatureHasher", { columns: this.options.columns });
    if (this.options.numFeatures === undefined || this.options.outputColumn === undefined)
      throw new TypeError("Cannot make FeatureHasher: it takes numFeatures and outputColumn: received none");
  }

  protected override apply(read: ReadColumn, rowCount: number): Columns {
    const { columns, numFeatures, outputColumn } = this.options;
    const vectors = new Float64Array(rowCount * numFeatures);
    for (const column of columns) {
      const place = placeByHash(column, numFeatures);
      const values = read(column);
      for (let row = 0; row < rowCount; row += 1) (vectors[row * numFeatures + place] as number) += numberOrNull(values[row], column) ?? 0;
    }
    return { [outputColumn]: new NdArray(vectors, [rowCount, numFeatures]) };
  }
}

definePreprocessor("Tokenizer", Tokenizer);
definePreprocessor("CountVectorizer", CountVectorizer);
definePreprocessor("HashingVectorizer", HashingVectorizer);
definePreprocessor("FeatureHasher", FeatureHasher);
