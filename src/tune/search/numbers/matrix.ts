/**
 * Linear algebra on small dense matrices: Cholesky factors with their solves, and the eigenvectors of a symmetric matrix.
 *
 * A matrix of `size` rows is one `Float64Array` row by row. Inner loops run along rows, so that 300 rows cost only about 10 ms. Used by the
 * Gaussian process, by PB2 and by CMA-ES; nothing here knows of them.
 */

/**
 * Replaces the lower half of `matrix` by its Cholesky factor.
 *
 * @returns false where the matrix is not positive definite; its content is then of no use
 */
export function factorize(matrix: Float64Array, size: number): boolean {
  for (let row = 0; row < size; row++) {
    const rowStart = row * size;
    for (let column = 0; column <= row; column++) {
      const columnStart = column * size;
      let sum = matrix[rowStart + column] as number;
      for (let k = 0; k < column; k++) sum -= (matrix[rowStart + k] as number) * (matrix[columnStart + k] as number);
      if (column < row) matrix[rowStart + column] = sum / (matrix[columnStart + column] as number);
      else if (sum > 0) matrix[rowStart + row] = Math.sqrt(sum);
      else return false;
    }
  }
  return true;
}

/** Solves `factor * x = vector` in place. The factor may have more rows than the vector, of `stride` numbers each. */
export function solveLower(factor: Float64Array, vector: Float64Array, stride: number = vector.length): void {
  const size = vector.length;
  for (let row = 0; row < size; row++) {
    const start = row * stride;
    let sum = vector[row] as number;
    for (let k = 0; k < row; k++) sum -= (factor[start + k] as number) * (vector[k] as number);
    vector[row] = sum / (factor[start + row] as number);
  }
}

/** Solves `transposed factor * x = vector` in place. */
export function solveUpper(factor: Float64Array, vector: Float64Array): void {
  const size = vector.length;
  for (let row = size - 1; row >= 0; row--) {
    const start = row * size;
    const value = (vector[row] as number) / (factor[start + row] as number);
    vector[row] = value;
    for (let k = 0; k < row; k++) vector[k] = (vector[k] as number) - value * (factor[start + k] as number);
  }
}

/** The inverse of a matrix whose Cholesky factor is given: both halves, in a new array. */
export function inverseOf(factor: Float64Array, size: number): Float64Array {
  // Row i of `columns` is column i of the inverse factor, so that the product below runs along rows.
  const columns = new Float64Array(size * size);
  for (let column = 0; column < size; column++) {
    const start = column * size;
    columns[start + column] = 1 / (factor[start + column] as number);
    for (let row = column + 1; row < size; row++) {
      const factorStart = row * size;
      let sum = 0;
      for (let k = column; k < row; k++) sum -= (factor[factorStart + k] as number) * (columns[start + k] as number);
      columns[start + row] = sum / (factor[factorStart + row] as number);
    }
  }
  const inverse = new Float64Array(size * size);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column <= row; column++) {
      let sum = 0;
      for (let k = row; k < size; k++) sum += (columns[row * size + k] as number) * (columns[column * size + k] as number);
      inverse[row * size + column] = sum;
      inverse[column * size + row] = sum;
    }
  }
  return inverse;
}

/** Rotations of all pairs after which a symmetric matrix of our sizes is diagonal to the last digit. */
const SWEEPS_MAX = 30;

/** Eigenvalues of a symmetric matrix, and eigenvectors as the columns of `vectors`, by Jacobi's rotations. */
export function eigen(matrix: Float64Array, size: number): { values: Float64Array; vectors: Float64Array } {
  const a = matrix.slice();
  const vectors = new Float64Array(size * size);
  for (let index = 0; index < size; index++) vectors[index * size + index] = 1;
  for (let sweep = 0; sweep < SWEEPS_MAX; sweep++) {
    let rotated = false;
    for (let p = 0; p < size - 1; p++) {
      for (let q = p + 1; q < size; q++) if (rotate({ a, vectors, size }, p, q)) rotated = true;
    }
    if (!rotated) break;
  }
  return { values: Float64Array.from({ length: size }, (_, index) => a[index * size + index] as number), vectors };
}

/** Makes `a[p][q]` zero by a Jacobi rotation. Returns false where the entry is negligible already. */
function rotate({ a, vectors, size }: { a: Float64Array; vectors: Float64Array; size: number }, p: number, q: number): boolean {
  const off = a[p * size + q] as number;
  const first = a[p * size + p] as number;
  const second = a[q * size + q] as number;
  if (Math.abs(off) <= 1e-16 * Math.sqrt(Math.abs(first * second)) || off === 0) return false;
  const theta = (second - first) / (2 * off);
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  for (let k = 0; k < size; k++) turn(a, { first: k * size + p, second: k * size + q }, { cosine, sine });
  for (let k = 0; k < size; k++) turn(a, { first: p * size + k, second: q * size + k }, { cosine, sine });
  for (let k = 0; k < size; k++) turn(vectors, { first: k * size + p, second: k * size + q }, { cosine, sine });
  return true;
}

function turn(
  values: Float64Array,
  { first, second }: { first: number; second: number },
  { cosine, sine }: { cosine: number; sine: number },
): void {
  const x = values[first] as number;
  const y = values[second] as number;
  values[first] = cosine * x - sine * y;
  values[second] = sine * x + cosine * y;
}
