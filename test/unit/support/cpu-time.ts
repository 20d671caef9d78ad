/**
 * How long this process has used a CPU, in milliseconds. Tests measure work with it, because other processes of a busy machine add
 * next to nothing to it.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
