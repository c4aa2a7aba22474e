/** `shoal/serve`: models and services behind one door. `import "shoal"` loads nothing of it. */
export {};
