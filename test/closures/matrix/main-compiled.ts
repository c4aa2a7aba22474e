/** The matrix as an ES module program that a compiler has been through. */
import "./typescript-only.ts";
import "./main-esm.ts";
