/*
 * Numeric kernels of shoal/tensor: one source for WebAssembly SIMD (4 lanes), NEON (4 lanes) and AVX2 with FMA (8 lanes).
 *
 * A kernel takes its arguments from words of the arena: offsets in bytes, counts and strides in floats. It checks that all ranges lie inside of the
 * arena before it reads or writes, returns 1 where one does not, and allocates nothing. Arrays are float32, row-major and may lie at any
 * multiple of 4 bytes. Compiled without -ffast-math, so that NaN stays NaN.
 */
#include "kernels.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")

#if defined(__AVX2__)
#define LANES 8
#define TILE_ROWS 6
#elif defined(__aarch64__)
#define LANES 4
#define TILE_ROWS 6
#else
#define LANES 4
#define TILE_ROWS 4
#endif
#define TILE_VECTORS 2
#define PANEL (LANES * TILE_VECTORS)
#define WIDE_VECTORS 8
/* Products are summed in blocks of so many terms, whose panel of the right matrix stays in the first-level cache. */
#define BLOCK_TERMS 256
#define DIRECT_ROWS 12

typedef float vf __attribute__((vector_size(LANES * 4)));
typedef int32_t vi __attribute__((vector_size(LANES * 4)));
typedef float vf_unaligned __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(LANES * 8)));

INLINE vf splat(float x) { return x - (vf){0}; }
INLINE vf load(const float *p) { return *(const vf_unaligned *)p; }
INLINE void store(float *p, vf x) { *(vf_unaligned *)p = x; }
INLINE vf select(vi mask, vf yes, vf no) { return (vf)((mask & (vi)yes) | (~mask & (vi)no)); }
INLINE vf load_part(const float *p, size_t count) {
  vf x = {0};
  for (size_t i = 0; i < count; i++) x[i] = p[i];
  return x;
}
INLINE void store_part(float *p, vf x, size_t count) {
  for (size_t i = 0; i < count; i++) p[i] = x[i];
}
INLINE vf load_some(const float *p, size_t count) { return count >= LANES ? load(p) : load_part(p, count); }
INLINE void store_some(float *p, vf x, size_t count) {
  if (count >= LANES) store(p, x);
  else store_part(p, x, count);
}
/* A row whose stride of columns is 0 is one number for all columns. */
INLINE vf load_column(const float *p, uint32_t stride, size_t at, size_t count) { return stride ? load_some(p + at, count) : splat(*p); }
INLINE vf at_least(vf x, float low) { return select(x < splat(low), splat(low), x); }
INLINE vf at_most(vf x, float high) { return select(x > splat(high), splat(high), x); }
INLINE vf absolute(vf x) { return (vf)((vi)x & 0x7fffffff); }

INLINE double lanes_sum(vd x) {
  double sum = 0;
  UNROLL for (int i = 0; i < LANES; i++) sum += x[i];
  return sum;
}
INLINE vd widen(vf x) { return __builtin_convertvector(x, vd); }

/* --- Mathematics ------------------------------------------------------------------------------------------------------------------ */

/* e^x - 1 = 2^n (1 + p) - 1: sets n as an integer and gives p, exact near zero. |x| must be at most 2^20. */
INLINE vf exp_parts(vf x, vi *power) {
  const vf magic = splat(12582912.0f);
  vf shifted = x * 1.44269504f + magic;
  vf n = shifted - magic;
  vf r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  vf p = splat(1.0f / 5040);
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  *power = (vi)shifted - 0x4b400000;
  return r + r * r * p;
}
INLINE vf power_of_two(vi n) { return (vf)((n + 127) << 23); }

/* Two factors, so that results below the normal range and infinity come out right. */
INLINE vf exponential(vf x) {
  vi n;
  vf p = exp_parts(at_most(at_least(x, -110.0f), 100.0f), &n) + 1.0f;
  vi half = n >> 1;
  return p * power_of_two(half) * power_of_two(n - half);
}

INLINE vf logarithm(vf x) {
  vi small = x < splat(1.17549435e-38f);
  vf scaled = select(small, x * 16777216.0f, x);
  vi bits = (vi)scaled;
  vi exponent = (bits - 0x3f3504f3) >> 23;
  vf f = (vf)(bits - (exponent << 23)) - 1.0f;
  vf s = f / (f + 2.0f);
  vf z = s * s;
  vf series = splat(2.0f / 9);
  series = series * z + 2.0f / 7;
  series = series * z + 2.0f / 5;
  series = series * z + 2.0f / 3;
  vf power = __builtin_convertvector(exponent, vf) - (vf)((vi)splat(24.0f) & small);
  vf y = power * 0.693359375f + (power * -2.12194440e-4f + (s * 2.0f + s * z * series));
  y = select(x == splat(0.0f), splat(-__builtin_inff()), y);
  y = select(x < splat(0.0f), splat(__builtin_nanf("")), y);
  return select((x == splat(__builtin_inff())) | (x != x), x, y);
}
/* log(1 + x) for x >= 0. */
INLINE vf logarithm_plus_one(vf x) {
  vf u = x + 1.0f;
  vi tiny = u == splat(1.0f);
  vf safe = select(tiny, splat(1.0f), u - 1.0f);
  return select(tiny, x, logarithm(u) * (x / safe));
}
INLINE vf hyperbolic_tangent(vf x) {
  vi sign = (vi)x & (int32_t)0x80000000;
  vi n;
  vf p = exp_parts(at_most(absolute(x), 10.0f) * 2.0f, &n);
  vf power = power_of_two(n);
  vf minus_one = power * p + (power - 1.0f);
  return (vf)((vi)(minus_one / (minus_one + 2.0f)) | sign);
}
INLINE vf logistic(vf x) {
  vf e = exponential((vf)((vi)x | (int32_t)0x80000000));
  vf large = 1.0f / (e + 1.0f);
  return select(x < splat(0.0f), e * large, large);
}
INLINE vf soft_plus(vf x) {
  vf e = exponential((vf)((vi)x | (int32_t)0x80000000));
  return at_least(x, 0.0f) + logarithm_plus_one(e);
}
INLINE vf square_root(vf x) { return __builtin_elementwise_sqrt(x); }
INLINE vf expm1(vf x) {
  vi n;
  vf p = exp_parts(at_most(at_least(x, -30.0f), 0.0f), &n);
  vf power = power_of_two(n);
  return power * p + (power - 1.0f);
}

/* --- Ranges ----------------------------------------------------------------------------------------------------------------------- */

INLINE int outside(const Arena *arena, uint32_t offset, uint64_t count) {
  return (offset & 3) != 0 || count > 0x40000000u || offset + count * 4 > arena->bytes;
}
/* A table of rows and columns with strides. Neither count exceeds the memory, so that loops over empty rows end soon. */
INLINE int table_outside(const Arena *arena, uint32_t offset, uint64_t rows, uint64_t row_stride, uint64_t columns, uint64_t column_stride) {
  if (rows > arena->bytes || columns > arena->bytes) return 1;
  if (rows == 0 || columns == 0) return outside(arena, offset, 0);
  if (rows > 0x40000000u || columns > 0x40000000u || row_stride > 0x40000000u || column_stride > 0x40000000u) return 1;
  uint64_t last = (rows - 1) * row_stride;
  if (last > 0x40000000u) return 1;
  return outside(arena, offset, last + (columns - 1) * column_stride + 1);
}
#define FLOATS(offset) ((float *)(arena->base + (offset)))
#define INTEGERS(offset) ((const int32_t *)(arena->base + (offset)))

INLINE float float_of(uint32_t word) {
  union { uint32_t bits; float number; } both = {word};
  return both.number;
}

/* --- Products of matrices --------------------------------------------------------------------------------------------------------- */

typedef struct {
  const float *a;
  size_t a_row, a_term;
  const float *b;
  size_t b_term;
  float *out;
  size_t out_row;
  const float *bias;
  size_t terms, columns;
  int add;
} Tile;

INLINE void tile_of(const Tile *t, int rows, int vectors) {
  vf sums[TILE_ROWS][WIDE_VECTORS];
  UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++) sums[i][v] = splat(0);
  const float *a = t->a;
  const float *b = t->b;
  const size_t a_row = t->a_row, a_term = t->a_term, b_term = t->b_term;
  for (size_t p = 0; p < t->terms; p++) {
    vf right[WIDE_VECTORS];
    UNROLL for (int v = 0; v < vectors; v++) right[v] = load(b + v * LANES);
    UNROLL for (int i = 0; i < rows; i++) {
      vf left = splat(a[i * a_row]);
      UNROLL for (int v = 0; v < vectors; v++) sums[i][v] += left * right[v];
    }
    a += a_term;
    b += b_term;
  }
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      size_t at = (size_t)v * LANES;
      if (at >= t->columns) break;
      size_t count = t->columns - at;
      float *out = t->out + i * t->out_row + at;
      vf sum = sums[i][v];
      if (t->bias) sum += load_some(t->bias + at, count);
      if (t->add) sum += load_some(out, count);
      store_some(out, sum, count);
    }
  }
}
#define TILE(rows, vectors) \
  static __attribute__((noinline)) void tile_##rows##_##vectors(const Tile *t) { tile_of(t, rows, vectors); }
TILE(1, 8) TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2) TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1)
#if TILE_ROWS == 6
TILE(5, 2) TILE(6, 2) TILE(5, 1) TILE(6, 1)
#endif
typedef void (*TileKernel)(const Tile *);
static const TileKernel narrow[] = {0, tile_1_1, tile_2_1, tile_3_1, tile_4_1,
#if TILE_ROWS == 6
                                    tile_5_1, tile_6_1
#endif
};
static const TileKernel full[] = {0, tile_1_2, tile_2_2, tile_3_2, tile_4_2,
#if TILE_ROWS == 6
                                  tile_5_2, tile_6_2
#endif
};

static void pack(float *panel, const float *b, size_t b_term, size_t b_column, size_t terms, size_t columns) {
  size_t width = columns > LANES ? PANEL : LANES;
  if (b_column == 1 && columns == width) {
    for (size_t p = 0; p < terms; p++)
      for (size_t v = 0; v < width; v += LANES) store(panel + p * width + v, load(b + p * b_term + v));
    return;
  }
  for (size_t j = 0; j < width; j++) {
    const float *column = b + j * b_column;
    if (j < columns)
      for (size_t p = 0; p < terms; p++) panel[p * width + j] = column[p * b_term];
    else
      for (size_t p = 0; p < terms; p++) panel[p * width + j] = 0;
  }
}

static void columns_of_rows(Tile *tile, size_t rows, const TileKernel *kernels) {
  const float *a = tile->a;
  float *out = tile->out;
  for (size_t i = 0; i < rows; i += TILE_ROWS) {
    size_t count = rows - i < TILE_ROWS ? rows - i : TILE_ROWS;
    tile->a = a + i * tile->a_row;
    tile->out = out + i * tile->out_row;
    kernels[count](tile);
  }
  tile->a = a;
  tile->out = out;
}

/* out[rows, columns] = (add ? out : 0) + a[rows, terms] b[terms, columns] + bias[columns]; the strides of a and b are free. */
int kernel_matmul(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t rows = w[8], columns = w[9], terms = w[10];
  const size_t a_row = w[2], a_term = w[3], b_term = w[5], b_column = w[6];
  if (table_outside(arena, w[0], rows, columns, columns, 1) || table_outside(arena, w[1], rows, a_row, terms, a_term) ||
      table_outside(arena, w[4], terms, b_term, columns, b_column) || (w[7] && outside(arena, w[7], columns)))
    return 1;
  float panel[BLOCK_TERMS * PANEL];
  for (size_t first = 0; first == 0 || first < terms; first += BLOCK_TERMS) {
    Tile tile = {.a_row = a_row, .a_term = a_term, .out_row = columns};
    tile.terms = terms - first < BLOCK_TERMS ? terms - first : BLOCK_TERMS;
    tile.add = first > 0 || w[11];
    for (size_t j = 0; j < columns;) {
      size_t left = columns - j;
      const float *b = FLOATS(w[4]) + first * b_term + j * b_column;
      tile.a = FLOATS(w[1]) + first * a_term;
      tile.out = FLOATS(w[0]) + j;
      tile.bias = w[7] && first == 0 ? FLOATS(w[7]) + j : 0;
      if (rows == 1 && b_column == 1 && left >= WIDE_VECTORS * LANES) {
        tile.columns = WIDE_VECTORS * LANES;
        tile.b = b;
        tile.b_term = b_term;
        tile_1_8(&tile);
      } else {
        tile.columns = left < PANEL ? left : PANEL;
        size_t width = left > LANES ? PANEL : LANES;
        if (b_column == 1 && left >= width && rows < DIRECT_ROWS) {
          tile.b = b;
          tile.b_term = b_term;
        } else {
          pack(panel, b, b_term, b_column, tile.terms, tile.columns);
          tile.b = panel;
          tile.b_term = width;
        }
        columns_of_rows(&tile, rows, tile.columns > LANES ? full : narrow);
      }
      j += tile.columns;
    }
  }
  return 0;
}

/* --- Elementwise ------------------------------------------------------------------------------------------------------------------ */

enum { AFFINE, EXP, LOG, SQRT, SQUARE, ABS, TANH, SIGMOID, RELU, ELU, SILU, SOFTPLUS, CLAMP };

INLINE vf unary_of(int operation, vf x, float p, float q) {
  switch (operation) {
    case AFFINE: return x * p + q;
    case EXP: return exponential(x);
    case LOG: return logarithm(x);
    case SQRT: return square_root(x);
    case SQUARE: return x * x;
    case ABS: return absolute(x);
    case TANH: return hyperbolic_tangent(x);
    case SIGMOID: return logistic(x);
    case RELU: return at_least(x, 0.0f);
    case ELU: return select(x < splat(0.0f), expm1(x), x);
    case SILU: return x * logistic(x);
    case SOFTPLUS: return soft_plus(x);
    default: return at_most(at_least(x, p), q);
  }
}
/* The derivative by x, from x and the result y. */
INLINE vf slope_of(int operation, vf x, vf y, float p, float q) {
  const vf one = splat(1.0f), zero = splat(0.0f);
  switch (operation) {
    case AFFINE: return splat(p);
    case EXP: return y;
    case LOG: return 1.0f / x;
    case SQRT: return 0.5f / y;
    case SQUARE: return x * 2.0f;
    case ABS: return select(x > zero, one, select(x < zero, -one, zero));
    case TANH: return 1.0f - y * y;
    case SIGMOID: return y * (1.0f - y);
    case RELU: return select(x > zero, one, zero);
    case ELU: return select(x > zero, one, y + 1.0f);
    case SILU: {
      vf s = logistic(x);
      return s * (x * (1.0f - s) + 1.0f);
    }
    case SOFTPLUS: return logistic(x);
    default: return select((x < splat(p)) | (x > splat(q)), zero, one);
  }
}
#define EACH_UNARY(DO) \
  DO(AFFINE) DO(EXP) DO(LOG) DO(SQRT) DO(SQUARE) DO(ABS) DO(TANH) DO(SIGMOID) DO(RELU) DO(ELU) DO(SILU) DO(SOFTPLUS) DO(CLAMP)

/* out = f(x) for `count` numbers. */
int kernel_unary(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t count = w[3];
  if (outside(arena, w[1], count) || outside(arena, w[2], count)) return 1;
  const float p = float_of(w[4]), q = float_of(w[5]);
  float *out = FLOATS(w[1]);
  const float *x = FLOATS(w[2]);
  switch (w[0]) {
#define UNARY(name) \
  case name: \
    for (size_t i = 0; i < count; i += LANES) store_some(out + i, unary_of(name, load_some(x + i, count - i), p, q), count - i); \
    return 0;
    EACH_UNARY(UNARY)
  }
  return 1;
}

/* out = (add ? out : 0) + gradient f'(x). */
int kernel_unaryGradient(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t count = w[5];
  if (outside(arena, w[1], count) || outside(arena, w[2], count) || outside(arena, w[3], count) || outside(arena, w[4], count)) return 1;
  const float p = float_of(w[6]), q = float_of(w[7]);
  const int add = w[8] != 0;
  float *out = FLOATS(w[1]);
  const float *gradient = FLOATS(w[2]), *x = FLOATS(w[3]), *y = FLOATS(w[4]);
  switch (w[0]) {
#define UNARY_GRADIENT(name) \
  case name: \
    for (size_t i = 0; i < count; i += LANES) { \
      size_t left = count - i; \
      vf slope = slope_of(name, load_some(x + i, left), load_some(y + i, left), p, q); \
      vf change = load_some(gradient + i, left) * slope; \
      store_some(out + i, add ? load_some(out + i, left) + change : change, left); \
    } \
    return 0;
    EACH_UNARY(UNARY_GRADIENT)
  }
  return 1;
}

/* MASK keeps a where b is not 0. */
enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM, MASK };

INLINE vf binary_of(int operation, vf a, vf b) {
  switch (operation) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case DIVIDE: return a / b;
    case MINIMUM: return select((a < b) | (a != a), a, b);
    case MASK: return select(b != splat(0.0f), a, splat(0.0f));
    default: return select((a > b) | (a != a), a, b);
  }
}
/* What `gradient` gives to the left (side 0) or the right operand. Equal operands of minimum and maximum get half each. */
INLINE vf share_of(int operation, int side, vf gradient, vf a, vf b) {
  vf half = select(a == b, gradient * 0.5f, splat(0.0f));
  switch (operation) {
    case ADD: return gradient;
    case SUBTRACT: return side ? -gradient : gradient;
    case MULTIPLY: return side ? gradient * a : gradient * b;
    case DIVIDE: return side ? -gradient * a / (b * b) : gradient / b;
    case MINIMUM: return select(side ? b < a : a < b, gradient, half);
    case MASK: return side ? splat(0.0f) : select(b != splat(0.0f), gradient, splat(0.0f));
    default: return select(side ? b > a : a > b, gradient, half);
  }
}
#define EACH_BINARY(DO) DO(ADD) DO(SUBTRACT) DO(MULTIPLY) DO(DIVIDE) DO(MINIMUM) DO(MAXIMUM) DO(MASK)

/* out[rows, columns] = f(a, b); the strides of a and b are free for rows, 0 or 1 for columns. */
int kernel_binary(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t rows = w[8], columns = w[9];
  const uint32_t a_row = w[3], a_column = w[4], b_row = w[6], b_column = w[7];
  if (a_column > 1 || b_column > 1 || table_outside(arena, w[1], rows, columns, columns, 1) ||
      table_outside(arena, w[2], rows, a_row, columns, a_column) || table_outside(arena, w[5], rows, b_row, columns, b_column))
    return 1;
  switch (w[0]) {
#define BINARY(name) \
  case name: \
    for (size_t r = 0; r < rows; r++) { \
      float *out = FLOATS(w[1]) + r * columns; \
      const float *a = FLOATS(w[2]) + r * a_row, *b = FLOATS(w[5]) + r * b_row; \
      for (size_t j = 0; j < columns; j += LANES) { \
        size_t left = columns - j; \
        store_some(out + j, binary_of(name, load_column(a, a_column, j, left), load_column(b, b_column, j, left)), left); \
      } \
    } \
    return 0;
    EACH_BINARY(BINARY)
  }
  return 1;
}

typedef struct {
  float *out;
  const float *gradient, *a, *b;
  uint32_t out_column, a_column, b_column;
  size_t columns;
  int add;
} Row;

/* One row's share. Where the operand has one number for all columns, the shares are summed as float64. */
INLINE double row_share(int operation, int side, const Row *row) {
  vd sum = {0};
  for (size_t j = 0; j < row->columns; j += LANES) {
    size_t left = row->columns - j;
    vf a = load_column(row->a, row->a_column, j, left), b = load_column(row->b, row->b_column, j, left);
    vf change = share_of(operation, side, load_some(row->gradient + j, left), a, b);
    if (row->out_column) {
      store_some(row->out + j, row->add ? load_some(row->out + j, left) + change : change, left);
    } else if (left >= LANES) {
      sum += widen(change);
    } else {
      for (size_t i = 0; i < left; i++) sum[i] += change[i];
    }
  }
  return lanes_sum(sum);
}

/* out = (add ? out : 0) + the share of one operand, summed over the axes along which it was repeated (stride 0 of out). */
int kernel_binaryGradient(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t rows = w[12], columns = w[13];
  const uint32_t out_row = w[3], out_column = w[4], a_row = w[7], a_column = w[8], b_row = w[10], b_column = w[11];
  if (out_column > 1 || a_column > 1 || b_column > 1 || table_outside(arena, w[2], rows, out_row, columns, out_column) ||
      table_outside(arena, w[5], rows, columns, columns, 1) || table_outside(arena, w[6], rows, a_row, columns, a_column) ||
      table_outside(arena, w[9], rows, b_row, columns, b_column))
    return 1;
  double total = 0;
  const int add = w[14] != 0, whole = out_row == 0 && out_column == 0;
  if (rows == 0 || columns == 0) return 0;
  for (size_t r = 0; r < rows; r++) {
    Row row = {FLOATS(w[2]) + r * out_row, FLOATS(w[5]) + r * columns, FLOATS(w[6]) + r * a_row, FLOATS(w[9]) + r * b_row,
               out_column, a_column, b_column, columns, add || (r > 0 && out_row == 0)};
    double sum = 0;
    switch (w[0] * 2 + (w[1] != 0)) {
#define SHARE(name) \
  case name * 2: sum = row_share(name, 0, &row); break; \
  case name * 2 + 1: sum = row_share(name, 1, &row); break;
      EACH_BINARY(SHARE)
      default: return 1;
    }
    if (whole) total += sum;
    else if (!out_column) *row.out = row.add ? (float)(*row.out + sum) : (float)sum;
  }
  float *out = FLOATS(w[2]);
  if (whole) *out = add ? (float)(*out + total) : (float)total;
  return 0;
}

/* --- Rows, sums ------------------------------------------------------------------------------------------------------------------- */

/* out[outer, inner] = scale * the sum of x[outer, count, inner] over the middle axis. */
int kernel_sum(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t outer = w[2], count = w[3], inner = w[4];
  if (table_outside(arena, w[0], outer, inner, inner, 1) || count > 0x40000000u || table_outside(arena, w[1], outer, count * inner, count * inner, 1))
    return 1;
  const double scale = (double)float_of(w[5]) / (w[6] ? (double)w[6] : 1);
  for (size_t o = 0; o < outer; o++) {
    const float *x = FLOATS(w[1]) + o * count * inner;
    float *out = FLOATS(w[0]) + o * inner;
    if (inner == 1) {
      vd sums = {0};
      size_t i = 0;
      for (; i + LANES <= count; i += LANES) sums += widen(load(x + i));
      double sum = lanes_sum(sums);
      for (; i < count; i++) sum += x[i];
      *out = (float)(sum * scale);
      continue;
    }
    for (size_t j = 0; j < inner; j++) {
      double sum = 0;
      for (size_t i = 0; i < count; i++) sum += x[i * inner + j];
      out[j] = (float)(sum * scale);
    }
  }
  return 0;
}

/* out[outer, count, inner] = (add ? out : 0) + scale * gradient[outer, inner], the way back of a sum. */
int kernel_spread(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t outer = w[2], count = w[3], inner = w[4];
  if (count > 0x40000000u || table_outside(arena, w[1], outer, inner, inner, 1) ||
      table_outside(arena, w[0], outer, count * inner, count * inner, 1))
    return 1;
  const float scale = float_of(w[5]) / (w[6] ? (float)w[6] : 1);
  if (count == 0 || inner == 0) return 0;
  const size_t rows = inner == 1 ? outer : outer * count, columns = inner == 1 ? count : inner;
  for (size_t r = 0; r < rows; r++) {
    float *out = FLOATS(w[0]) + r * columns;
    const float *gradient = FLOATS(w[1]) + (inner == 1 ? r : r / count * inner);
    for (size_t j = 0; j < columns; j += LANES) {
      size_t left = columns - j;
      vf change = load_column(gradient, inner != 1, j, left) * scale;
      store_some(out + j, w[7] ? load_some(out + j, left) + change : change, left);
    }
  }
  return 0;
}

/* out = the largest of x[outer, count, inner] over the middle axis, at = its first index (an int32). */
int kernel_max(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t outer = w[3], count = w[4], inner = w[5];
  if (count == 0 || count > 0x40000000u || table_outside(arena, w[0], outer, inner, inner, 1) || table_outside(arena, w[1], outer, inner, inner, 1) ||
      table_outside(arena, w[2], outer, count * inner, count * inner, 1))
    return 1;
  int32_t *indices = (int32_t *)FLOATS(w[1]);
  for (size_t o = 0; o < outer; o++) {
    for (size_t j = 0; j < inner; j++) {
      const float *x = FLOATS(w[2]) + o * count * inner + j;
      size_t best = 0;
      for (size_t i = 1; i < count; i++)
        if (x[i * inner] > x[best * inner] || (x[i * inner] != x[i * inner] && x[best * inner] == x[best * inner])) best = i;
      FLOATS(w[0])[o * inner + j] = x[best * inner];
      indices[o * inner + j] = (int32_t)best;
    }
  }
  return 0;
}

INLINE float row_max(const float *x, size_t count) {
  float most = x[0];
  for (size_t i = 1; i < count; i++) most = x[i] > most ? x[i] : most;
  return most;
}

/* Rows of probabilities, or of their logarithms where w[4]. */
int kernel_softmax(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t rows = w[2], count = w[3];
  if (table_outside(arena, w[0], rows, count, count, 1) || table_outside(arena, w[1], rows, count, count, 1)) return 1;
  for (size_t r = 0; r < rows && count > 0; r++) {
    const float *x = FLOATS(w[1]) + r * count;
    float *out = FLOATS(w[0]) + r * count;
    const float most = row_max(x, count);
    double sum = 0;
    for (size_t i = 0; i < count; i += LANES) {
      size_t left = count - i < LANES ? count - i : LANES;
      vf e = exponential(load_some(x + i, left) - most);
      for (size_t lane = 0; lane < left; lane++) sum += e[lane];
      if (!w[4]) store_some(out + i, e, left);
    }
    const float log_sum = w[4] ? logarithm(splat((float)sum))[0] : 0, inverse = (float)(1 / sum);
    for (size_t i = 0; i < count; i += LANES) {
      size_t left = count - i;
      vf y = w[4] ? load_some(x + i, left) - most - log_sum : load_some(out + i, left) * inverse;
      store_some(out + i, y, left);
    }
  }
  return 0;
}

/* From the result y: softmax y (g - sum(g y)), its logarithm g - exp(y) sum(g). */
int kernel_softmaxGradient(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t rows = w[3], count = w[4];
  if (table_outside(arena, w[0], rows, count, count, 1) || table_outside(arena, w[1], rows, count, count, 1) ||
      table_outside(arena, w[2], rows, count, count, 1))
    return 1;
  for (size_t r = 0; r < rows; r++) {
    float *out = FLOATS(w[0]) + r * count;
    const float *gradient = FLOATS(w[1]) + r * count, *y = FLOATS(w[2]) + r * count;
    double total = 0;
    for (size_t i = 0; i < count; i++) total += w[5] ? gradient[i] : (double)gradient[i] * y[i];
    const float sum = (float)total;
    for (size_t i = 0; i < count; i += LANES) {
      size_t left = count - i;
      vf g = load_some(gradient + i, left), result = load_some(y + i, left);
      vf change = w[5] ? g - exponential(result) * sum : result * (g - sum);
      store_some(out + i, w[6] ? load_some(out + i, left) + change : change, left);
    }
  }
  return 0;
}

/* Indices are checked before the first write, and again when they are used: a result may lie over them. */
INLINE int indices_outside(const int32_t *indices, size_t count, size_t limit) {
  for (size_t i = 0; i < count; i++)
    if ((uint32_t)indices[i] >= limit) return 1;
  return 0;
}

/* out[i, :] = x[index[i], :]. */
int kernel_rows(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t count = w[3], rows = w[4], columns = w[5];
  if (table_outside(arena, w[0], count, columns, columns, 1) || table_outside(arena, w[1], rows, columns, columns, 1) ||
      outside(arena, w[2], count) || indices_outside(INTEGERS(w[2]), count, rows))
    return 1;
  for (size_t i = 0; i < count; i++) {
    const size_t index = (uint32_t)INTEGERS(w[2])[i];
    if (index >= rows) return 1;
    const float *x = FLOATS(w[1]) + index * columns;
    float *out = FLOATS(w[0]) + i * columns;
    for (size_t j = 0; j < columns; j += LANES) store_some(out + j, load_some(x + j, columns - j), columns - j);
  }
  return 0;
}

/* out[index[i], :] += gradient[i, :]. */
int kernel_addRows(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t count = w[3], rows = w[4], columns = w[5];
  if (table_outside(arena, w[0], rows, columns, columns, 1) || table_outside(arena, w[1], count, columns, columns, 1) ||
      outside(arena, w[2], count) || indices_outside(INTEGERS(w[2]), count, rows))
    return 1;
  for (size_t i = 0; i < count; i++) {
    const size_t index = (uint32_t)INTEGERS(w[2])[i];
    if (index >= rows) return 1;
    float *out = FLOATS(w[0]) + index * columns;
    const float *gradient = FLOATS(w[1]) + i * columns;
    for (size_t j = 0; j < columns; j += LANES)
      store_some(out + j, load_some(out + j, columns - j) + load_some(gradient + j, columns - j), columns - j);
  }
  return 0;
}

/* out[o, i] = x[o, index[o, i], i], or the gradient's way back: x[o, index[o, i], i] += out[o, i]. */
int kernel_pick(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t outer = w[3], count = w[4], inner = w[5];
  if (count > 0x40000000u || table_outside(arena, w[0], outer, inner, inner, 1) || table_outside(arena, w[2], outer, inner, inner, 1) ||
      table_outside(arena, w[1], outer, count * inner, count * inner, 1) || indices_outside(INTEGERS(w[2]), outer * inner, count))
    return 1;
  for (size_t o = 0; o < outer; o++) {
    for (size_t i = 0; i < inner; i++) {
      const size_t index = (uint32_t)INTEGERS(w[2])[o * inner + i];
      if (index >= count) return 1;
      float *x = FLOATS(w[1]) + (o * count + index) * inner + i;
      float *out = FLOATS(w[0]) + o * inner + i;
      if (w[6]) *x += *out;
      else *out = *x;
    }
  }
  return 0;
}

/* Copies, or adds where w[6], a table whose rows have strides. */
int kernel_copy(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t rows = w[4], columns = w[5];
  if (table_outside(arena, w[0], rows, w[1], columns, 1) || table_outside(arena, w[2], rows, w[3], columns, 1)) return 1;
  for (size_t r = 0; r < rows; r++) {
    float *out = FLOATS(w[0]) + r * w[1];
    const float *x = FLOATS(w[2]) + r * w[3];
    for (size_t j = 0; j < columns; j += LANES) {
      vf value = load_some(x + j, columns - j);
      store_some(out + j, w[6] ? load_some(out + j, columns - j) + value : value, columns - j);
    }
  }
  return 0;
}

/* out[outer, columns, rows] = (add ? out : 0) + x[outer, rows, columns]. */
int kernel_transpose(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t outer = w[2], rows = w[3], columns = w[4];
  if (rows > 0x40000000u || columns > 0x40000000u || table_outside(arena, w[0], outer, rows * columns, rows * columns, 1) ||
      table_outside(arena, w[1], outer, rows * columns, rows * columns, 1))
    return 1;
  if (rows == 0 || columns == 0) return 0;
  for (size_t o = 0; o < outer; o++) {
    float *out = FLOATS(w[0]) + o * rows * columns;
    const float *x = FLOATS(w[1]) + o * rows * columns;
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < columns; j++) out[j * rows + i] = w[5] ? out[j * rows + i] + x[i * columns + j] : x[i * columns + j];
  }
  return 0;
}

/* Rows of mean 0 and variance 1: out = (x - mean) * r with r = 1 / sqrt(variance + epsilon), which stays in `roots`. */
int kernel_normalize(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t rows = w[3], count = w[4];
  if (table_outside(arena, w[0], rows, count, count, 1) || outside(arena, w[1], rows) || table_outside(arena, w[2], rows, count, count, 1)) return 1;
  const double epsilon = float_of(w[5]);
  for (size_t r = 0; r < rows && count > 0; r++) {
    float *out = FLOATS(w[0]) + r * count;
    const float *x = FLOATS(w[2]) + r * count;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) sum += x[i];
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += (x[i] - mean) * (x[i] - mean);
    const double root = 1 / __builtin_sqrt(squares / (double)count + epsilon);
    FLOATS(w[1])[r] = (float)root;
    for (size_t i = 0; i < count; i++) out[i] = (float)((x[i] - mean) * root);
  }
  return 0;
}

/* out = (add ? out : 0) + r (g - mean(g) - y mean(g y)) for rows y of kernel_normalize. */
int kernel_normalizeGradient(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t rows = w[4], count = w[5];
  if (table_outside(arena, w[0], rows, count, count, 1) || table_outside(arena, w[1], rows, count, count, 1) ||
      table_outside(arena, w[2], rows, count, count, 1) || outside(arena, w[3], rows))
    return 1;
  for (size_t r = 0; r < rows && count > 0; r++) {
    float *out = FLOATS(w[0]) + r * count;
    const float *gradient = FLOATS(w[1]) + r * count, *y = FLOATS(w[2]) + r * count;
    double sum = 0, product = 0;
    for (size_t i = 0; i < count; i++) {
      sum += gradient[i];
      product += (double)gradient[i] * y[i];
    }
    sum /= (double)count;
    product /= (double)count;
    const double root = FLOATS(w[3])[r];
    for (size_t i = 0; i < count; i++) {
      float change = (float)(root * (gradient[i] - sum - y[i] * product));
      out[i] = w[6] ? out[i] + change : change;
    }
  }
  return 0;
}

/*
 * Patches of images: images[count, height, width, channels] and patches[count, out_height, out_width, kernel_height, kernel_width, channels],
 * zero beyond the edges. Fills the patches, or adds them to the images where w[13].
 */
int kernel_patches(const Arena *arena) {
  const uint32_t *w = arena->words;
  const uint64_t count = w[2], height = w[3], width = w[4], channels = w[5], kernel_height = w[6], kernel_width = w[7];
  const uint64_t stride = w[8], out_height = w[11], out_width = w[12];
  const uint64_t image = height * width * channels, patch = kernel_height * kernel_width * channels, places = out_height * out_width;
  for (int i = 2; i <= 12; i++)
    if (w[i] > 0x10000u) return 1;
  if (stride == 0 || image > 0x40000000u || patch > 0x40000000u || table_outside(arena, w[1], count, image, image, 1) ||
      (count * places > 0 && table_outside(arena, w[0], count * places, patch, patch, 1)))
    return 1;
  for (uint64_t row = 0; row < count * places; row++) {
    const int64_t top = (int64_t)(row % places / out_width * stride) - w[9], left = (int64_t)(row % out_width * stride) - w[10];
    float *images = FLOATS(w[1]) + row / places * image;
    float *patches = FLOATS(w[0]) + row * patch;
    for (uint64_t k = 0; k < kernel_height * kernel_width; k++, patches += channels) {
      const int64_t y = top + (int64_t)(k / kernel_width), x = left + (int64_t)(k % kernel_width);
      const int inside = y >= 0 && y < (int64_t)height && x >= 0 && x < (int64_t)width;
      float *pixel = images + (inside ? ((uint64_t)y * width + (uint64_t)x) * channels : 0);
      for (uint64_t c = 0; c < channels; c++) {
        if (!w[13]) patches[c] = inside ? pixel[c] : 0;
        else if (inside) pixel[c] += patches[c];
      }
    }
  }
  return 0;
}

/* --- Optimizers ------------------------------------------------------------------------------------------------------------------- */

/* The sum of squares, as a float64 in words 2 and 3. */
int kernel_sumSquares(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t count = w[1];
  if (outside(arena, w[0], count)) return 1;
  const float *x = FLOATS(w[0]);
  vd sums = {0};
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    vd value = widen(load(x + i));
    sums += value * value;
  }
  union { double number; uint32_t words[2]; } sum = {lanes_sum(sums)};
  for (; i < count; i++) sum.number += (double)x[i] * x[i];
  arena->results[2] = sum.words[0];
  arena->results[3] = sum.words[1];
  return 0;
}

/* Adam: parameters, gradients and both moments of `count` numbers; AdamW where the decay is apart from the gradient. */
int kernel_adam(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t count = w[4];
  if (outside(arena, w[0], count) || outside(arena, w[1], count) || outside(arena, w[2], count) || outside(arena, w[3], count)) return 1;
  const float new1 = float_of(w[5]), beta2 = float_of(w[6]), new2 = float_of(w[7]), step = float_of(w[8]), root = float_of(w[9]);
  const float epsilon = float_of(w[10]), scale = float_of(w[11]), decay = float_of(w[12]), kept = float_of(w[13]);
  float *x = FLOATS(w[0]), *first = FLOATS(w[2]), *second = FLOATS(w[3]);
  const float *gradients = FLOATS(w[1]);
  for (size_t i = 0; i < count; i += LANES) {
    size_t left = count - i;
    vf value = load_some(x + i, left), gradient = load_some(gradients + i, left) * scale + value * decay;
    vf m = load_some(first + i, left), v = load_some(second + i, left);
    m = m + (gradient - m) * new1;
    v = v * beta2 + gradient * gradient * new2;
    store_some(first + i, m, left);
    store_some(second + i, v, left);
    store_some(x + i, value * kept - m * step / (square_root(v) * root + epsilon), left);
  }
  return 0;
}

/* Gradient descent: moving = momentum * moving + gradient, and parameters -= rate * moving. Without momentum `moving` is not used. */
int kernel_descend(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t count = w[3];
  const float momentum = float_of(w[4]), rate = float_of(w[5]), scale = float_of(w[6]), decay = float_of(w[7]);
  if (outside(arena, w[0], count) || outside(arena, w[1], count) || (momentum != 0 && outside(arena, w[2], count))) return 1;
  float *x = FLOATS(w[0]), *moving = FLOATS(w[2]);
  const float *gradients = FLOATS(w[1]);
  for (size_t i = 0; i < count; i += LANES) {
    size_t left = count - i;
    vf value = load_some(x + i, left), change = load_some(gradients + i, left) * scale + value * decay;
    if (momentum != 0) {
      change += load_some(moving + i, left) * momentum;
      store_some(moving + i, change, left);
    }
    store_some(x + i, value - change * rate, left);
  }
  return 0;
}

/* RMSProp: squares = kept * squares + (1 - kept) * gradient^2, and parameters -= rate * gradient / (sqrt(squares) + epsilon). */
int kernel_rmsProp(const Arena *arena) {
  const uint32_t *w = arena->words;
  const size_t count = w[3];
  if (outside(arena, w[0], count) || outside(arena, w[1], count) || outside(arena, w[2], count)) return 1;
  const float kept = float_of(w[4]), added = float_of(w[5]), rate = float_of(w[6]), epsilon = float_of(w[7]), scale = float_of(w[8]);
  const float decay = float_of(w[9]);
  float *x = FLOATS(w[0]), *squares = FLOATS(w[2]);
  const float *gradients = FLOATS(w[1]);
  for (size_t i = 0; i < count; i += LANES) {
    size_t left = count - i;
    vf value = load_some(x + i, left), gradient = load_some(gradients + i, left) * scale + value * decay;
    vf square = load_some(squares + i, left) * kept + gradient * gradient * added;
    store_some(squares + i, square, left);
    store_some(x + i, value - gradient * rate / (square_root(square) + epsilon), left);
  }
  return 0;
}

/* --- The door of WebAssembly ------------------------------------------------------------------------------------------------------ */

#if defined(__wasm__)
static uint32_t words[WORDS];
__attribute__((export_name("words"))) uint32_t words_offset(void) { return (uint32_t)(uintptr_t)words; }
#define EXPORT(name) \
  __attribute__((export_name(#name))) void wasm_##name(void) { \
    const Arena arena = arena_of(0, (uint64_t)__builtin_wasm_memory_size(0) << 16, words); \
    if (kernel_##name(&arena)) __builtin_trap(); \
  }
EACH_KERNEL(EXPORT)
#endif
