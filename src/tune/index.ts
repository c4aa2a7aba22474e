/** `shoal/tune`: the search for hyperparameters, from one machine to a cluster. `import "shoal"` loads nothing of it. */
export {};
