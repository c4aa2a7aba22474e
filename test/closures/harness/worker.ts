/** The worker process of the closure matrix: importing the runtime makes it listen. */
import "./runtime.ts";
