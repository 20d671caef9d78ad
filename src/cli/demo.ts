export function addDemoCommand(..._: unknown[]): void {}
