import { readFileSync } from 'node:fs';

/** The line of `/proc/PID/status` with the most memory that a process has had in use, in KiB. */
export const PEAK = /^VmHWM:\s+(\d+) kB$/m;

/**
 * The most memory that this process has had in use, in bytes. `process.resourceUsage().maxRSS` does not serve: Linux
 * counts in it the memory of the process that started this one.
 */
export function peakMemory(): number {
  return Number(PEAK.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
}
