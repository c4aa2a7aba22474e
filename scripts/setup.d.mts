/** Types of setup.mjs for the tests, which are TypeScript; the file itself is plain JavaScript because Node 20 has to run it. */
export declare const ROOT: string;
export declare class SetupError extends Error {}
export declare function nodeBinary(major?: number): string;
export declare function ensureDependencies(): void;
export declare function ensureBuild(node: string): void;
