/**
 * Arithmetic and functions of numbers.
 *
 * Numbers of up to 32 bits and floating ones are float64, as in JavaScript. A 64-bit whole number with another whole number gives an exact one, and a result
 * beyond 64 bits is an error. With a float64, and in `div`, the result is a float64, or an error beyond 2^53: nothing is rounded in silence. A column read as
 * `bigint` follows JavaScript's bigint: `div` cuts off, and fractions do not mix. Decimals have a separate file.
 */
import { BIG_INT64, type DataType, isNumberKind, NULL, typeName } from "../../blocks/data-type.ts";
import { newValueArray, nullVector, type Vector } from "../../blocks/vector.ts";
import { decimalArithmetic, decimalFunction, isDecimal, roundedDecimals } from "../decimals/decimal-arithmetic.ts";
import type { ArithmeticName, NumberFunctionName } from "../nodes.ts";
import {
  floats,
  floatsOf,
  isNullOperand,
  isNumeric,
  isPresent,
  isWide,
  type Kernel,
  nullsOf,
  type Operand,
  requireTypes,
  RowProblem,
  stepOf,
  TypeProblem,
} from "./operand.ts";

const NUMBERS = "numbers";
const CAST_HINT = 'cast("float64") makes numbers of texts, times and durations';

export function arithmetic(name: ArithmeticName): Kernel {
  return (inputs, length) => {
    const isOfDecimals = inputs.some(isDecimal);
    if (!isOfDecimals) requireTypes(inputs, NUMBERS, isNumeric, CAST_HINT);
    if (inputs.some(isNullOperand)) return nullVector(NULL, length);
    if (isOfDecimals) return decimalArithmetic(name, inputs as [Operand, Operand], length);
    const [a, b] = inputs as [Operand, Operand];
    const isBigint = isBigintType(a.vector.type) || isBigintType(b.vector.type);
    if (isBigint && !(isWhole(a) && isWhole(b)))
      throw new TypeProblem(
        `takes two whole numbers where one is a bigint: received ${typeName(a.vector.type)} and ${typeName(b.vector.type)}`,
        'cast("float64") makes numbers of bigints',
      );
    const isWideResult = isWide(a.vector.type) || isWide(b.vector.type);
    if (isBigint || (isWideResult && name !== "div" && name !== "pow" && isWhole(a) && isWhole(b)))
      return wideArithmetic(name, a, b, length, isBigint);
    const values = new Float64Array(length);
    FLOAT_LOOPS[name](floatsOf(a, inputs, length), stepOf(a), floatsOf(b, inputs, length), stepOf(b), values);
    return floats(values, nullsOf(inputs, length));
  };
}

function isBigintType(type: DataType): boolean {
  return isWide(type) && type.as === "bigint";
}

/** Tells whether an operand has a whole-number type, or is one whole number for all rows. */
function isWhole({ vector, isConstant }: Operand): boolean {
  const { type, values } = vector;
  if (type.kind === "float64" || type.kind === "float32") return isConstant && Number.isSafeInteger(values?.[0]);
  return isWide(type) || isNumberKind(type.kind);
}

type FloatLoop = (a: Float64Array, aStep: number, b: Float64Array, bStep: number, out: Float64Array) => void;

/** A separate loop for each operation: a function call for each row would cost more than the row. */
const FLOAT_LOOPS: Readonly<Record<ArithmeticName, FloatLoop>> = {
  add: (a, aStep, b, bStep, out) => {
    for (let i = 0; i < out.length; i += 1) out[i] = (a[i * aStep] as number) + (b[i * bStep] as number);
  },
  sub: (a, aStep, b, bStep, out) => {
    for (let i = 0; i < out.length; i += 1) out[i] = (a[i * aStep] as number) - (b[i * bStep] as number);
  },
  mul: (a, aStep, b, bStep, out) => {
    for (let i = 0; i < out.length; i += 1) out[i] = (a[i * aStep] as number) * (b[i * bStep] as number);
  },
  div: (a, aStep, b, bStep, out) => {
    for (let i = 0; i < out.length; i += 1) out[i] = (a[i * aStep] as number) / (b[i * bStep] as number);
  },
  mod: (a, aStep, b, bStep, out) => {
    for (let i = 0; i < out.length; i += 1) out[i] = (a[i * aStep] as number) % (b[i * bStep] as number);
  },
  floorDiv: (a, aStep, b, bStep, out) => {
    for (let i = 0; i < out.length; i += 1) out[i] = Math.floor((a[i * aStep] as number) / (b[i * bStep] as number));
  },
  pow: (a, aStep, b, bStep, out) => {
    for (let i = 0; i < out.length; i += 1) out[i] = (a[i * aStep] as number) ** (b[i * bStep] as number);
  },
};

// ---------------------------------------------------------------------------------------------------------------------
// 64 bits

/** Results of numbers below 2^53, which are exact if they are below 2^53, too. `div` and `pow` need bigint. */
const SAFE: Readonly<Record<ArithmeticName, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  mod: (a, b) => a % b,
  // A quotient that is no whole number is further from the next one than its rounding goes, as both are below 2^53.
  floorDiv: (a, b) => Math.floor(a / b),
  div: (a, b) => Math.trunc(a / b),
  pow: () => Number.NaN,
};

const EXACT: Readonly<Record<ArithmeticName, (a: bigint, b: bigint) => bigint>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  mod: (a, b) => a % b,
  floorDiv: (a, b) => (a % b !== 0n && a < 0n !== b < 0n ? a / b - 1n : a / b),
  div: (a, b) => a / b,
  pow: (a, b) => (b > 64n && a !== 0n && a !== 1n && a !== -1n ? 2n ** 64n : a ** b),
};

function wideArithmetic(name: ArithmeticName, a: Operand, b: Operand, length: number, isBigint: boolean): Vector {
  const isUnsigned = [a, b].every(({ vector }) => !isWide(vector.type) || vector.type.kind === "uint64");
  const type: DataType = { kind: isUnsigned ? "uint64" : "int64", as: isBigint ? "bigint" : "number" };
  const [x, y] = [wideValues(a.vector), wideValues(b.vector)];
  const out = newValueArray(type.kind, length) as BigInt64Array;
  const [aStep, bStep] = [stepOf(a), stepOf(b)];
  const exactly = (row: number): void => {
    if (!isPresent([a, b], row)) return;
    out[row] = exactResult(name, x[row * aStep] as bigint, y[row * bStep] as bigint, type, row);
  };
  if (isUnsigned || !(x instanceof BigInt64Array && y instanceof BigInt64Array)) {
    for (let row = 0; row < length; row += 1) exactly(row);
  } else {
    const safe = SAFE[name];
    const [readX, readY] = [safeReader(x), safeReader(y)];
    const halves = new Uint32Array(out.buffer);
    for (let row = 0; row < length; row += 1) {
      const result = safe(readX(row * aStep), readY(row * bStep));
      // NaN where an operand is beyond 2^53, or nothing is divided: no comparison holds for it.
      if (!(result <= Number.MAX_SAFE_INTEGER && result >= Number.MIN_SAFE_INTEGER)) {
        exactly(row);
        continue;
      }
      halves[2 * row] = result;
      halves[2 * row + 1] = Math.floor(result / 4_294_967_296);
    }
  }
  return { type, length, ...nullsOf([a, b], length), values: out };
}

/** Numbers below 2^53 without a bigint for each; NaN for others. */
function safeReader(values: BigInt64Array): (row: number) => number {
  const words = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  return (row) => {
    const value = (words[2 * row + 1] as number) * 4_294_967_296 + ((words[2 * row] as number) >>> 0);
    return value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER ? value : Number.NaN;
  };
}

/** Whole numbers as 64 bits, in place where they are. */
export function wideValues({ type, values, length }: Vector): BigInt64Array | BigUint64Array {
  if (isWide(type)) return values as BigInt64Array;
  const wide = new BigInt64Array(length);
  const halves = new Uint32Array(wide.buffer);
  for (let i = 0; i < length; i += 1) {
    const value = (values as Float64Array)[i] as number;
    halves[2 * i] = value;
    halves[2 * i + 1] = Math.floor(value / 4_294_967_296);
  }
  return wide;
}

function exactResult(name: ArithmeticName, a: bigint, b: bigint, type: DataType, row: number): bigint {
  if (b === 0n && (name === "mod" || name === "div" || name === "floorDiv"))
    throw new RowProblem(row, `divides ${a} by zero, for which whole numbers have no result: cast one to float64 for NaN and Infinity`);
  if (b < 0n && name === "pow") throw new RowProblem(row, `has the exponent ${b}, which bigint does not have: cast both to float64`);
  const result = EXACT[name](a, b);
  const cut = type.kind === "uint64" ? BigInt.asUintN(64, result) : BigInt.asIntN(64, result);
  if (cut !== result) throw new RowProblem(row, `is ${name} of ${a} and ${b}, which ${type.kind} does not hold`);
  return result;
}

// ---------------------------------------------------------------------------------------------------------------------
// One number

const ROUNDINGS: ReadonlySet<NumberFunctionName> = new Set<NumberFunctionName>(["round", "ceil", "floor", "trunc"]);

const OF_ONE: Readonly<Record<NumberFunctionName, (x: number) => number>> = {
  round: Math.round,
  ceil: Math.ceil,
  floor: Math.floor,
  trunc: Math.trunc,
  abs: Math.abs,
  neg: (x) => -x,
  sign: Math.sign,
  sqrt: Math.sqrt,
  exp: Math.exp,
  ln: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
};

export const NUMBER_FUNCTIONS: readonly NumberFunctionName[] = Object.keys(OF_ONE) as NumberFunctionName[];

export function numberFunction(name: NumberFunctionName): Kernel {
  const compute = OF_ONE[name];
  return (inputs, length, [digits = 0]) => {
    const input = inputs[0] as Operand;
    if (isDecimal(input)) return name === "round" ? roundedDecimals(input, length, digits as number) : decimalFunction(name, input, length);
    requireTypes(inputs, "a number", isNumeric, CAST_HINT);
    if (isNullOperand(input)) return nullVector(NULL, length);
    const { vector } = input;
    if (isWide(vector.type)) {
      if (ROUNDINGS.has(name) || (name === "abs" && vector.type.kind === "uint64")) return vector;
      if (name === "neg") return negated(input, length);
      if (name === "abs") return absolute(input, length);
      if (name === "sign")
        return floats(
          Float64Array.from(vector.values as BigInt64Array, (value) => (value > 0n ? 1 : value < 0n ? -1 : 0)),
          nullsOf(inputs, length),
        );
    }
    const source = floatsOf(input, inputs, length);
    const values = new Float64Array(length);
    if (digits === 0) for (let i = 0; i < length; i += 1) values[i] = compute(source[i] as number);
    else for (let i = 0; i < length; i += 1) values[i] = rounded(source[i] as number, digits as number);
    return floats(values, nullsOf(inputs, length));
  };
}

/** Beyond 2^52 a number has no digit behind the point, and its product with a power of ten might have no place. */
function rounded(value: number, digits: number): number {
  const factor = 10 ** digits;
  return Math.abs(value) * factor < 2 ** 52 ? Math.round(value * factor) / factor : value;
}

const ZERO: Operand = {
  vector: { type: BIG_INT64, length: 1, nullCount: 0, bitOffset: 0, values: new BigInt64Array(1) },
  isConstant: true,
};

function negated(input: Operand, length: number): Vector {
  return wideArithmetic("sub", ZERO, input, length, isBigintType(input.vector.type));
}

function absolute(input: Operand, length: number): Vector {
  const values = (input.vector.values as BigInt64Array).slice();
  for (let i = 0; i < length; i += 1) {
    const value = values[i] as bigint;
    if (value < 0n && isPresent([input], i)) values[i] = exactResult("sub", 0n, value, input.vector.type, i);
  }
  return { ...input.vector, values };
}
