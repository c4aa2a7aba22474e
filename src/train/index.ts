/** `shoal/train`: training loops of Python frameworks and of TypeScript on groups of workers. `import "shoal"` loads nothing of it. */
export {};
