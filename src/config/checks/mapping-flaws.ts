import type { PathSegment } from '../problem.ts';
import type { Findings } from './findings.ts';

/** A problem that was found when a mapping was compiled. */
export interface MappingFlaw {
  /** The place in the mapping, such as `sources[0].mappings[1].fields.quantity`. */
  path: string;
  message: string;
  /** What to do about the flaw, as a full sentence. */
  cure?: string;
}

/**
 * Adds the flaws to the config's other problems. If the config's own rules have already reported a problem at a place,
 * a flaw there is left out.
 */
export function addFlaws(flaws: readonly MappingFlaw[], findings: Findings): void {
  const placed = flaws.map((flaw) => ({ ...flaw, path: segmentsOf(flaw.path) }));
  const isTold = (path: readonly PathSegment[]) => findings.has(path) || findings.has(path.slice(0, MEMBER_DEPTH));
  for (const { path, message, cure } of placed.filter((flaw) => !isTold(flaw.path))) {
    findings.addProblem(path, message, cure);
  }
}

/** The number of segments in the path of a member of a mapping: `sources`, 0, `mappings`, 1, `refs`. */
const MEMBER_DEPTH = 5;

/** The segments of a path within a mapping. A field's name is the last segment, and may contain any character. */
function segmentsOf(path: string): PathSegment[] {
  const match = /^sources\[(\d+)\]\.mappings\[(\d+)\](?:\.(\w+)(?:\.(.+))?)?$/s.exec(path);
  if (!match) return [];
  const [, source, mapping, ...within] = match;
  return ['sources', Number(source), 'mappings', Number(mapping), ...within.filter((segment) => segment !== undefined)];
}
