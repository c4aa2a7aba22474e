/*
 * The Node-API door of the kernels: a function without arguments for each of them, on an ArrayBuffer that TypeScript owns.
 *
 * Compiled for any processor of its architecture, unlike the kernels behind it, so that it can say whether this one has AVX2 and FMA. `bind` gives the
 * memory; it stays in use until the next `bind`, and TypeScript keeps it alive. Each environment (thread of JavaScript) has a memory of its own.
 */
#define NAPI_VERSION 8
#include "kernels.h"
#include <node_api.h>
#include <stdbool.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

typedef struct {
  void *data;
  size_t bytes;
} Memory;

/* The processor has the instructions, and the system saves the wide registers. */
static bool is_supported(void) {
#if defined(__x86_64__)
  unsigned int a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  const unsigned int fma = 1u << 12, saved = 1u << 27, avx = 1u << 28, avx2 = 1u << 5;
  if ((c & (fma | saved | avx)) != (fma | saved | avx)) return false;
  unsigned int low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & avx2) != 0;
#else
  return true;
#endif
}

#define CALL(name) \
  static napi_value call_##name(napi_env env, napi_callback_info info) { \
    Memory *memory; \
    if (napi_get_cb_info(env, info, NULL, NULL, NULL, (void **)&memory) != napi_ok || memory->data == NULL) { \
      napi_throw_error(env, NULL, "Cannot run a kernel: it has no memory. Call bind() first."); \
      return NULL; \
    } \
    const Arena arena = arena_of((uintptr_t)memory->data, memory->bytes, memory->data); \
    if (kernel_##name(&arena)) napi_throw_range_error(env, NULL, "Cannot run kernel " #name ": a range leaves the memory."); \
    return NULL; \
  }
EACH_KERNEL(CALL)

static napi_value bind(napi_env env, napi_callback_info info) {
  Memory *memory;
  size_t count = 1;
  napi_value buffer;
  void *data = NULL;
  size_t bytes = 0;
  if (napi_get_cb_info(env, info, &count, &buffer, NULL, (void **)&memory) != napi_ok || count != 1 ||
      napi_get_arraybuffer_info(env, buffer, &data, &bytes) != napi_ok || bytes < 64) {
    napi_throw_type_error(env, NULL, "Cannot bind a memory: it is an ArrayBuffer of 64 bytes or more.");
    return NULL;
  }
  memory->data = data;
  memory->bytes = bytes;
  return NULL;
}

static void release(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  free(data);
}

static bool add(napi_env env, napi_value exports, const char *name, napi_callback call, Memory *memory) {
  napi_value function;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, call, memory, &function) == napi_ok &&
         napi_set_named_property(env, exports, name, function) == napi_ok;
}

NAPI_MODULE_INIT() {
  napi_value supported;
  if (napi_get_boolean(env, is_supported(), &supported) != napi_ok ||
      napi_set_named_property(env, exports, "isSupported", supported) != napi_ok)
    return NULL;
  Memory *memory = calloc(1, sizeof *memory);
  if (memory == NULL || napi_set_instance_data(env, memory, release, NULL) != napi_ok) return NULL;
  bool added = add(env, exports, "bind", bind, memory);
#define ADD_KERNEL(name) added = added && add(env, exports, #name, call_##name, memory);
  EACH_KERNEL(ADD_KERNEL)
  return added ? exports : NULL;
}
