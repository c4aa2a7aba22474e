/* The kernels of shoal/tensor, as both of their doors see them: the list of names, and the arena on which they work. */
#ifndef SHOAL_KERNELS_H
#define SHOAL_KERNELS_H
#include <stddef.h>
#include <stdint.h>

#define WORDS 16

/*
 * Numbers lie at `base` plus an offset. `words` are the arguments of a call, copied out of the arena: a result that is written over them changes nothing
 * that has been checked. `results` is the place from which they were copied.
 */
typedef struct {
  uintptr_t base;
  uint64_t bytes;
  uint32_t *results;
  uint32_t words[WORDS];
} Arena;

static inline Arena arena_of(uintptr_t base, uint64_t bytes, uint32_t *words) {
  Arena arena = {.base = base, .bytes = bytes, .results = words};
  for (int i = 0; i < WORDS; i++) arena.words[i] = words[i];
  return arena;
}

#define EACH_KERNEL(DO) \
  DO(matmul) DO(unary) DO(unaryGradient) DO(binary) DO(binaryGradient) DO(sum) DO(spread) DO(max) DO(softmax) DO(softmaxGradient) \
  DO(rows) DO(addRows) DO(pick) DO(copy) DO(transpose) DO(normalize) DO(normalizeGradient) DO(patches) DO(sumSquares) DO(adam) \
  DO(descend) DO(rmsProp)

#define DECLARE(name) int kernel_##name(const Arena *arena);
EACH_KERNEL(DECLARE)
#undef DECLARE
#endif
