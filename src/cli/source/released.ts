import { plural } from '../text/style.ts';

/** Describes how many deliveries a manual resolution made due, and what sends them. */
export function releasedLines(released: number, { daemon }: { daemon: boolean }): string[] {
  if (released === 0) return [];
  const are = plural(released, 'delivery that waited is', 'deliveries that waited are');
  return [daemon ? `${are} due: the daemon sends ${released === 1 ? 'it' : 'them'}` : `${are} due: dpp-sync sync`];
}
