/**
 * Decides how soon V8 optimizes WebAssembly. Called by Data before it loads the decoder of Parquet.
 *
 * V8 compiles a function simply when it is first called, and once more, with all optimizations, after it has been busy for some milliseconds. Of a large module that a process uses for
 * half a second the second time costs more than it saves. Functions of a module that is loaded here have to be busy for eight times as long. They are checked when they are first
 * called, and not all at the beginning.
 */

/** Bytes of code, about, that a function runs before it is optimized: the number that V8 itself takes. */
const USUAL_BUDGET = 13_000_000;
const PATIENT_BUDGET = 100_000_000;

/**
 * Runs `load`. A module keeps the settings under which it was compiled, so other modules keep the defaults, unless they are compiled
 * meanwhile.
 */
export async function loadPatiently<T>(load: () => Promise<T>): Promise<T> {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString(`--wasm-tiering-budget=${PATIENT_BUDGET}`);
  setFlagsFromString("--wasm-lazy-validation");
  try {
    return await load();
  } finally {
    setFlagsFromString(`--wasm-tiering-budget=${USUAL_BUDGET}`);
    setFlagsFromString("--no-wasm-lazy-validation");
  }
}
