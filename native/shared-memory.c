/*
 * The native part of the object store: what JavaScript cannot do with files alone.
 *
 * It maps a part of a file as an ArrayBuffer, unmaps it when V8 has really let go of the memory (a finalizer of the
 * backing store, so it stays right after `ArrayBuffer.prototype.transfer`), and copies with stores that bypass the
 * cache, tells the end of objects that die young, makes named pipes, waits on words, and reaps children of ended threads. Everything works without it, by
 * copying. Called only by src/runtime/os/shared-memory.ts.
 *
 * Invariants: every argument is checked before the system sees it, a mapping never reaches beyond the end of its file
 * (that would be a SIGBUS at the first touch), and no call leaves a mapping behind when it throws. Plain Node-API,
 * so one binary serves every Node release; one state per environment, so worker threads do not share a list.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 6
#include <node_api.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

enum { MODE_SHARED = 0, MODE_PRIVATE = 1 };

/* The largest integer that a JavaScript number carries exactly. */
#define SAFE_INTEGER_MAX 9007199254740991.0

/* From here on a copy bypasses the cache: the target will not be read soon by this core, and reading it in costs a third of the bandwidth. */
#define STREAMING_MIN_BYTES ((size_t)1 << 20)

enum { PATH_LENGTH_MAX = 1024 };

/* Mappings alive in the whole process: the kernel's limit (65,530) is per process, and exceeding it aborts V8. */
static int64_t live_mappings = 0;

/* What one environment owns. It outlives the environment while mappings remain, hence the count of holders. */
typedef struct {
  int64_t holders;
  double *released;
  size_t released_length;
  size_t released_capacity;
} State;

typedef struct {
  State *state;
  void *base;
  size_t length;
  double token;
} Mapping;

/* An object whose end is told. */
typedef struct {
  State *state;
  double token;
} Watched;

static void state_release(State *state) {
  state->holders -= 1;
  if (state->holders > 0) return;
  free(state->released);
  free(state);
}

static void state_finalize(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  state_release(data);
}

static napi_value throw_type_error(napi_env env, const char *message) {
  napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", message);
  return NULL;
}

static napi_value throw_range_error(napi_env env, const char *message) {
  napi_throw_range_error(env, "ERR_OUT_OF_RANGE", message);
  return NULL;
}

static napi_value throw_system_error(napi_env env, const char *call, int number) {
  const char *code = number == ENOMEM ? "ENOMEM" : number == EACCES ? "EACCES" : number == EBADF ? "EBADF" : "EIO";
  char message[160] = "";
  strncat(message, call, 40);
  strncat(message, ": ", 3);
  strncat(message, strerror(number), 100);
  napi_throw_error(env, code, message);
  return NULL;
}

static napi_value number_value(napi_env env, double number) {
  napi_value value = NULL;
  napi_create_double(env, number, &value);
  return value;
}

/* Reads a whole number from 0 to 2^53-1; false when the value is anything else. */
static bool read_size(napi_env env, napi_value value, uint64_t *size) {
  double number = 0;
  if (napi_get_value_double(env, value, &number) != napi_ok) return false;
  if (!(number >= 0 && number <= SAFE_INTEGER_MAX)) return false;
  *size = (uint64_t)number;
  return (double)*size == number;
}

/* Fetches exactly `count` arguments into `arguments`, or throws. */
static bool read_arguments(napi_env env, napi_callback_info info, size_t count, napi_value *arguments) {
  size_t received = count;
  if (napi_get_cb_info(env, info, &received, arguments, NULL, NULL) != napi_ok || received < count) {
    throw_type_error(env, "Cannot call the native part: too few arguments");
    return false;
  }
  return true;
}

static void note_released(State *state, double token) {
  if (state->released_length == state->released_capacity) {
    size_t capacity = state->released_capacity == 0 ? 64 : state->released_capacity * 2;
    double *grown = realloc(state->released, capacity * sizeof(double));
    if (grown != NULL) {
      state->released = grown;
      state->released_capacity = capacity;
    }
  }
  /* Without memory for the list the token is lost: its object stays in the store until the process ends. */
  if (state->released_length < state->released_capacity) state->released[state->released_length++] = token;
}

/* Runs on the environment's thread once V8 has dropped the last reference to the memory. */
static void mapping_finalize(napi_env env, void *data, void *hint) {
  (void)env;
  (void)data;
  Mapping *mapping = hint;
  State *state = mapping->state;
  munmap(mapping->base, mapping->length);
  __atomic_sub_fetch(&live_mappings, 1, __ATOMIC_RELAXED);
  note_released(state, mapping->token);
  free(mapping);
  state_release(state);
}

/* map(fd, offset, length, mode, token) -> ArrayBuffer of exactly `length` bytes of the file at `offset`. */
static napi_value map(napi_env env, napi_callback_info info) {
  napi_value arguments[5];
  if (!read_arguments(env, info, 5, arguments)) return NULL;
  uint64_t fd = 0, offset = 0, length = 0, mode = 0;
  double token = 0;
  if (!read_size(env, arguments[0], &fd) || fd > INT32_MAX) return throw_type_error(env, "Cannot map: the file descriptor must be a whole number");
  if (!read_size(env, arguments[1], &offset)) return throw_type_error(env, "Cannot map: the offset must be a whole number");
  if (!read_size(env, arguments[2], &length)) return throw_type_error(env, "Cannot map: the length must be a whole number");
  if (!read_size(env, arguments[3], &mode) || mode > MODE_PRIVATE) return throw_range_error(env, "Cannot map: the mode must be 0 or 1");
  if (napi_get_value_double(env, arguments[4], &token) != napi_ok) return throw_type_error(env, "Cannot map: the token must be a number");
  if (length == 0) return throw_range_error(env, "Cannot map: the length must be positive");

  struct stat status;
  if (fstat((int)fd, &status) != 0) return throw_system_error(env, "fstat", errno);
  if (!S_ISREG(status.st_mode)) return throw_type_error(env, "Cannot map: the descriptor is not a regular file");
  uint64_t file_length = (uint64_t)status.st_size;
  if (offset > file_length || length > file_length - offset) return throw_range_error(env, "Cannot map: the range ends beyond the end of the file");

  /* The system maps whole pages; macOS on ARM has pages of 16 KB, and extents are aligned to 4 KB. */
  uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t lead = offset % page_bytes;
  State *state = NULL;
  if (napi_get_instance_data(env, (void **)&state) != napi_ok || state == NULL) return throw_type_error(env, "Cannot map: the environment is closing");
  Mapping *mapping = malloc(sizeof(Mapping));
  if (mapping == NULL) return throw_system_error(env, "malloc", ENOMEM);
  mapping->length = (size_t)(length + lead);
  mapping->base = mmap(NULL, mapping->length, PROT_READ | PROT_WRITE, mode == MODE_PRIVATE ? MAP_PRIVATE : MAP_SHARED, (int)fd, (off_t)(offset - lead));
  if (mapping->base == MAP_FAILED) {
    int number = errno;
    free(mapping);
    return throw_system_error(env, "mmap", number);
  }
  mapping->state = state;
  mapping->token = token;

  napi_value buffer = NULL;
  napi_status created = napi_create_external_arraybuffer(env, (char *)mapping->base + lead, (size_t)length, mapping_finalize, mapping, &buffer);
  if (created != napi_ok) {
    munmap(mapping->base, mapping->length);
    free(mapping);
    napi_throw_error(env, "ERR_EXTERNAL_BUFFERS_REFUSED", "Cannot map: this JavaScript engine refuses memory that is not its own");
    return NULL;
  }
  state->holders += 1;
  __atomic_add_fetch(&live_mappings, 1, __ATOMIC_RELAXED);
  return buffer;
}

/* Runs on the environment's thread once V8 has dropped the object, after a collection of young objects, too. */
static void watched_finalize(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  Watched *watched = data;
  note_released(watched->state, watched->token);
  state_release(watched->state);
  free(watched);
}

/* watch(object, token) -> whether the token will be among those of drainReleased() once the object is unreachable. False where something else is attached to it. */
static napi_value watch(napi_env env, napi_callback_info info) {
  napi_value arguments[2], value = NULL;
  if (!read_arguments(env, info, 2, arguments)) return NULL;
  double token = 0;
  if (napi_get_value_double(env, arguments[1], &token) != napi_ok) return throw_type_error(env, "Cannot watch: the token must be a number");
  State *state = NULL;
  if (napi_get_instance_data(env, (void **)&state) != napi_ok || state == NULL) return throw_type_error(env, "Cannot watch: the environment is closing");
  Watched *watched = malloc(sizeof(Watched));
  if (watched == NULL) return throw_system_error(env, "malloc", ENOMEM);
  watched->state = state;
  watched->token = token;
  bool is_watched = napi_wrap(env, arguments[0], watched, watched_finalize, NULL, NULL) == napi_ok;
  if (is_watched) state->holders += 1;
  else free(watched);
  napi_get_boolean(env, is_watched, &value);
  return value;
}

/* unwatch(object) -> the token with which the object was watched; -1 where it was not. */
static napi_value unwatch(napi_env env, napi_callback_info info) {
  napi_value arguments[1];
  if (!read_arguments(env, info, 1, arguments)) return NULL;
  Watched *watched = NULL;
  if (napi_remove_wrap(env, arguments[0], (void **)&watched) != napi_ok || watched == NULL) return number_value(env, -1);
  double token = watched->token;
  state_release(watched->state);
  free(watched);
  return number_value(env, token);
}

/* drainReleased() -> the tokens of the mappings and watched objects that ended since the last call. */
static napi_value drain_released(napi_env env, napi_callback_info info) {
  (void)info;
  State *state = NULL;
  napi_value tokens = NULL;
  if (napi_get_instance_data(env, (void **)&state) != napi_ok || state == NULL) return NULL;
  if (napi_create_array_with_length(env, state->released_length, &tokens) != napi_ok) return NULL;
  for (size_t index = 0; index < state->released_length; index += 1) {
    napi_set_element(env, tokens, (uint32_t)index, number_value(env, state->released[index]));
  }
  state->released_length = 0;
  return tokens;
}

#if defined(__x86_64__)
/* Copies with non-temporal stores: measured 20 GB/s against 9 GB/s for memcpy from untouched zeros, 8.2 against 6.9 from real data. */
__attribute__((target("avx2"))) static void copy_streaming(char *target, const char *source, size_t length) {
  size_t lead = (32 - ((uintptr_t)target & 31)) & 31;
  if (lead > length) lead = length;
  memcpy(target, source, lead);
  target += lead;
  source += lead;
  length -= lead;
  size_t blocks = length & ~(size_t)127;
  for (size_t at = 0; at < blocks; at += 128) {
    __m256i first = _mm256_loadu_si256((const __m256i *)(source + at));
    __m256i second = _mm256_loadu_si256((const __m256i *)(source + at + 32));
    __m256i third = _mm256_loadu_si256((const __m256i *)(source + at + 64));
    __m256i fourth = _mm256_loadu_si256((const __m256i *)(source + at + 96));
    _mm256_stream_si256((__m256i *)(target + at), first);
    _mm256_stream_si256((__m256i *)(target + at + 32), second);
    _mm256_stream_si256((__m256i *)(target + at + 64), third);
    _mm256_stream_si256((__m256i *)(target + at + 96), fourth);
  }
  /* Streaming stores are weakly ordered: the reader is told of the object only after this fence. */
  _mm_sfence();
  memcpy(target + blocks, source + blocks, length - blocks);
}

/* Asks the processor itself: the compiler's own runtime check does not link into a shared library on every target. */
static bool detect_avx2(void) {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & bit_OSXSAVE) == 0) return false;
  unsigned int saved_low = 0, saved_high = 0;
  __asm__ volatile("xgetbv" : "=a"(saved_low), "=d"(saved_high) : "c"(0));
  if ((saved_low & 6) != 6) return false;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_AVX2) != 0;
}

static bool has_avx2 = false;

static void detect_processor(void) {
  has_avx2 = detect_avx2();
}

static void copy_bytes(char *target, const char *source, size_t length) {
  if (length >= STREAMING_MIN_BYTES && has_avx2) copy_streaming(target, source, length);
  else memcpy(target, source, length);
}
#else
static void detect_processor(void) {}

static void copy_bytes(char *target, const char *source, size_t length) {
  memcpy(target, source, length);
}
#endif

/* copy(target ArrayBuffer, offset, source Uint8Array): the two must not overlap. */
static napi_value copy(napi_env env, napi_callback_info info) {
  napi_value arguments[3];
  if (!read_arguments(env, info, 3, arguments)) return NULL;
  void *target = NULL;
  size_t target_length = 0;
  bool is_buffer = false;
  if (napi_is_arraybuffer(env, arguments[0], &is_buffer) != napi_ok || !is_buffer ||
      napi_get_arraybuffer_info(env, arguments[0], &target, &target_length) != napi_ok) {
    return throw_type_error(env, "Cannot copy: the target must be an ArrayBuffer");
  }
  uint64_t offset = 0;
  if (!read_size(env, arguments[1], &offset)) return throw_type_error(env, "Cannot copy: the offset must be a whole number");
  bool is_view = false;
  napi_typedarray_type type = napi_int8_array;
  void *source = NULL;
  size_t source_length = 0;
  if (napi_is_typedarray(env, arguments[2], &is_view) != napi_ok || !is_view ||
      napi_get_typedarray_info(env, arguments[2], &type, &source_length, &source, NULL, NULL) != napi_ok ||
      type != napi_uint8_array) {
    return throw_type_error(env, "Cannot copy: the source must be a Uint8Array");
  }
  if (offset > target_length || source_length > target_length - offset) return throw_range_error(env, "Cannot copy: the source does not fit the target at this offset");
  /* A detached buffer has no memory; a length of zero is then the only one that passed. */
  if (source_length > 0 && source != NULL && target != NULL) copy_bytes((char *)target + offset, source, source_length);
  return NULL;
}

/* liveMaps() -> mappings alive in this process, over all its threads. */
static napi_value live_maps(napi_env env, napi_callback_info info) {
  (void)info;
  return number_value(env, (double)__atomic_load_n(&live_mappings, __ATOMIC_RELAXED));
}

/* dieWithParent() -> true when the system will kill this process as soon as its parent ends. */
static napi_value die_with_parent(napi_env env, napi_callback_info info) {
  (void)info;
  bool armed = false;
#if defined(__linux__)
  armed = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
#endif
  napi_value value = NULL;
  napi_get_boolean(env, armed, &value);
  return value;
}

/* Fetches the address of a 32-bit word of an ArrayBuffer from the first two arguments, or throws. */
static uint32_t *read_word(napi_env env, napi_value *arguments) {
  void *memory = NULL;
  size_t length = 0;
  uint64_t index = 0;
  if (napi_get_arraybuffer_info(env, arguments[0], &memory, &length) != napi_ok || memory == NULL) {
    throw_type_error(env, "Cannot wait: the memory must be an ArrayBuffer");
    return NULL;
  }
  if (!read_size(env, arguments[1], &index) || index >= length / 4) {
    throw_range_error(env, "Cannot wait: the word lies outside of the memory");
    return NULL;
  }
  return (uint32_t *)memory + index;
}

/* waitOnWord(memory ArrayBuffer, word, expected, microseconds): returns when another process wakes the word, its value is another, or the time is over. */
static napi_value wait_on_word(napi_env env, napi_callback_info info) {
  napi_value arguments[4];
  if (!read_arguments(env, info, 4, arguments)) return NULL;
  uint32_t *word = read_word(env, arguments);
  if (word == NULL) return NULL;
  uint64_t expected = 0, microseconds = 0;
  if (!read_size(env, arguments[2], &expected) || expected > UINT32_MAX) return throw_type_error(env, "Cannot wait: the value must be a whole number");
  if (!read_size(env, arguments[3], &microseconds) || microseconds > 1000000) return throw_range_error(env, "Cannot wait: the time must be 0 to 1,000,000 us");
#if defined(__linux__)
  /* An interruption by a signal returns early, as a wake-up does: callers look for themselves. */
  struct timespec timeout = {(time_t)(microseconds / 1000000), (long)(microseconds % 1000000) * 1000};
  syscall(SYS_futex, word, FUTEX_WAIT, (uint32_t)expected, &timeout, NULL, 0);
#endif
  return NULL;
}

/* wakeWord(memory ArrayBuffer, word): wakes the process that waits on the word. */
static napi_value wake_word(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  if (!read_arguments(env, info, 2, arguments)) return NULL;
  uint32_t *word = read_word(env, arguments);
  if (word == NULL) return NULL;
#if defined(__linux__)
  syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
#endif
  return NULL;
}

/* yieldProcessor(): lets another process run that waits for this processor, if there is one, and returns when it is this one's turn again. */
static napi_value yield_processor(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  sched_yield();
  return NULL;
}

static void *wait_for_child(void *child) {
  while (waitpid((pid_t)(intptr_t)child, NULL, 0) < 0 && errno == EINTR) {
  }
  return NULL;
}

/* The environment of a thread ends: libuv waits for its children no more, and they would stay defunct until the process ends. A thread of our own waits for each. */
static void reap(void *child) {
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  /* Signals are for the threads of Node. */
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  (void)!pthread_create(&thread, &attributes, wait_for_child, child);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
}

/* Node unloads this library with the last thread that has it, while a thread of ours may wait in it. */
static void stay_loaded(void) {
  Dl_info own;
  if (dladdr((void *)(intptr_t)&wait_for_child, &own) != 0) (void)!dlopen(own.dli_fname, RTLD_NOW | RTLD_NODELETE);
}

static bool read_child(napi_env env, napi_callback_info info, void **child) {
  napi_value arguments[1];
  uint64_t pid = 0;
  if (!read_arguments(env, info, 1, arguments)) return false;
  if (!read_size(env, arguments[0], &pid) || pid == 0 || pid > INT32_MAX) {
    throw_type_error(env, "Cannot reap a child: its number must be a whole number above 0");
    return false;
  }
  *child = (void *)(intptr_t)pid;
  return true;
}

/* reapWithThread(pid): a child of this thread is waited for once the thread has ended. */
static napi_value reap_with_thread(napi_env env, napi_callback_info info) {
  void *child = NULL;
  if (!read_child(env, info, &child)) return NULL;
  stay_loaded();
  napi_add_env_cleanup_hook(env, reap, child);
  return NULL;
}

/* hasEnded(pid): the child has been waited for; its number may be another's from now on. */
static napi_value has_ended(napi_env env, napi_callback_info info) {
  void *child = NULL;
  if (!read_child(env, info, &child)) return NULL;
  napi_remove_env_cleanup_hook(env, reap, child);
  return NULL;
}

/* makeFifo(path): a named pipe that only this user may open. */
static napi_value make_fifo(napi_env env, napi_callback_info info) {
  napi_value arguments[1];
  if (!read_arguments(env, info, 1, arguments)) return NULL;
  char path[PATH_LENGTH_MAX];
  size_t length = 0;
  if (napi_get_value_string_utf8(env, arguments[0], path, sizeof path, &length) != napi_ok || length == 0 || length >= sizeof path - 1) {
    return throw_type_error(env, "Cannot make a named pipe: the path must be text of 1 to 1,022 bytes");
  }
  if (strlen(path) != length) return throw_type_error(env, "Cannot make a named pipe: the path holds a zero byte");
  if (mkfifo(path, S_IRUSR | S_IWUSR) != 0) return throw_system_error(env, "mkfifo", errno);
  return NULL;
}

NAPI_MODULE_INIT() {
  detect_processor();
  State *state = calloc(1, sizeof(State));
  if (state == NULL) return throw_system_error(env, "calloc", ENOMEM);
  state->holders = 1;
  if (napi_set_instance_data(env, state, state_finalize, NULL) != napi_ok) {
    free(state);
    return throw_type_error(env, "Cannot load the native part: no instance data");
  }
  const struct {
    const char *name;
    napi_callback callback;
  } functions[] = {
      {"map", map},
      {"watch", watch},
      {"unwatch", unwatch},
      {"drainReleased", drain_released},
      {"copy", copy},
      {"liveMaps", live_maps},
      {"dieWithParent", die_with_parent},
      {"makeFifo", make_fifo},
      {"waitOnWord", wait_on_word},
      {"wakeWord", wake_word},
      {"yieldProcessor", yield_processor},
      {"reapWithThread", reap_with_thread},
      {"hasEnded", has_ended},
  };
  for (size_t index = 0; index < sizeof functions / sizeof functions[0]; index += 1) {
    napi_value function = NULL;
    napi_create_function(env, functions[index].name, NAPI_AUTO_LENGTH, functions[index].callback, NULL, &function);
    napi_set_named_property(env, exports, functions[index].name, function);
  }
  return exports;
}
