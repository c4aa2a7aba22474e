/** The one line that says what runs the matrix: the harness of this folder's parent, or the public API. */
export { notes, remote, run, stop } from "../harness/runtime.ts";
