/* The kernels of shoal/tensor, as both of their doors see them: the list of names, and the arena on which they work. */
#ifndef SHOAL_KERNELS_H
#define SHOAL_KERNELS_H
#include <stddef.h>
#include <stdint.h>

/* Numbers lie at `base` plus an offset; `words` are the arguments of the next call. */
typedef struct {
  uintptr_t base;
  uint64_t bytes;
  uint32_t *words;
} Arena;

#define EACH_KERNEL(DO) \
  DO(matmul) DO(unary) DO(unaryGradient) DO(binary) DO(binaryGradient) DO(sum) DO(spread) DO(max) DO(softmax) DO(softmaxGradient) \
  DO(rows) DO(addRows) DO(pick) DO(copy) DO(transpose) DO(sumSquares) DO(adam)

#define DECLARE(name) int kernel_##name(const Arena *arena);
EACH_KERNEL(DECLARE)
#undef DECLARE
#endif
