declare const legacy: { double(value: number): number; name: string };
export = legacy;
