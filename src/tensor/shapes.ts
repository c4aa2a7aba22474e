/**
 * Shapes: sizes, NumPy's broadcasting, axes, and the errors for shapes that do not fit.
 *
 * Decides how two operands are laid over each other as tables of rows and columns, which is the form that kernels take. Further axes become
 * a list of steps, of which most calls have none.
 */
import { describeShape } from "./tape.ts";

export type Shape = readonly number[];

export function sizeOf(shape: Shape): number {
  let size = 1;
  for (const length of shape) size *= length;
  return size;
}

export function isSameShape(a: Shape, b: Shape): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
  return true;
}

/** @throws RangeError unless it is a list of whole numbers from 0 on */
export function checkedShape(action: string, shape: Shape): Shape {
  if (!Array.isArray(shape) || !shape.every((length) => Number.isSafeInteger(length) && length >= 0))
    throw new RangeError(`Cannot ${action}: a shape is a list of whole numbers: received ${JSON.stringify(shape)}.`);
  return shape;
}

export function shapesDiffer(action: string, a: Shape, b: Shape, remedy: string): RangeError {
  return new RangeError(`Cannot ${action}: the shapes do not fit: received ${describeShape(a)} and ${describeShape(b)}. ${remedy}`);
}

/** The index of an axis, counted from the end where it is negative. */
export function checkedAxis(action: string, shape: Shape, axis: number): number {
  const index = axis < 0 ? axis + shape.length : axis;
  if (!Number.isInteger(axis) || index < 0 || index >= shape.length)
    throw new RangeError(`Cannot ${action}: a tensor of shape ${describeShape(shape)} has ${shape.length} axes: received axis ${axis}.`);
  return index;
}

/** The lengths before an axis, along the axis, and behind it. */
export function aroundAxis(shape: Shape, axis: number): { outer: number; count: number; inner: number } {
  return { outer: sizeOf(shape.slice(0, axis)), count: shape[axis] as number, inner: sizeOf(shape.slice(axis + 1)) };
}

/** The shape of both operands laid over each other. */
export function broadcastShape(action: string, a: Shape, b: Shape): Shape {
  if (isSameShape(a, b)) return a;
  const rank = Math.max(a.length, b.length);
  const shape: number[] = [];
  for (let axis = 0; axis < rank; axis++) {
    const left = a[axis - rank + a.length] ?? 1;
    const right = b[axis - rank + b.length] ?? 1;
    if (left !== right && left !== 1 && right !== 1)
      throw shapesDiffer(action, a, b, "Axes are compared from the last on; each pair is equal, or one of it is 1.");
    shape.push(left === 1 ? right : left);
  }
  return shape;
}

/** Strides in numbers; 0 where one number stands for all. */
export interface Overlay {
  readonly rows: number;
  readonly columns: number;
  readonly aRow: number;
  readonly aColumn: number;
  readonly bRow: number;
  readonly bColumn: number;
  /** Axes beyond the two, innermost first. */
  readonly outer: readonly OuterAxis[];
}
interface OuterAxis {
  readonly count: number;
  readonly aStep: number;
  readonly bStep: number;
}

const NO_AXES: readonly OuterAxis[] = [];

export function overlay(shape: Shape, a: Shape, b: Shape): Overlay {
  const size = sizeOf(shape);
  if (isSameShape(a, b)) return { rows: 1, columns: size, aRow: 0, aColumn: 1, bRow: 0, bColumn: 1, outer: NO_AXES };
  const axes = mergedAxes(shape, a, b);
  const [inner = { count: 1, aStep: 1, bStep: 1 }, rows = { count: 1, aStep: 0, bStep: 0 }] = axes;
  return {
    rows: rows.count,
    columns: inner.count,
    aRow: rows.aStep,
    aColumn: inner.aStep,
    bRow: rows.bStep,
    bColumn: inner.bStep,
    outer: axes.length > 2 ? axes.slice(2) : NO_AXES,
  };
}

/** Axes from the last on; neighbours are one where both operands go on in the same step. */
function mergedAxes(shape: Shape, a: Shape, b: Shape): OuterAxis[] {
  const axes: OuterAxis[] = [];
  let aStride = 1;
  let bStride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const count = shape[axis] as number;
    const aLength = a[axis - shape.length + a.length] ?? 1;
    const bLength = b[axis - shape.length + b.length] ?? 1;
    if (count !== 1) {
      const aStep = aLength === 1 ? 0 : aStride;
      const bStep = bLength === 1 ? 0 : bStride;
      const last = axes.at(-1);
      if (last !== undefined && aStep === last.aStep * last.count && bStep === last.bStep * last.count)
        axes[axes.length - 1] = { count: count * last.count, aStep: last.aStep, bStep: last.bStep };
      else axes.push({ count, aStep, bStep });
    }
    aStride *= aLength;
    bStride *= bLength;
  }
  return axes;
}
