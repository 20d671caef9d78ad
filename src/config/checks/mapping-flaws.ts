import type { Findings } from './findings.ts';
import type { PathSegment } from './problem.ts';

/** What compiling a mapping has found wrong with it. */
export interface MappingFlaw {
  /** The path of the mapping, and where within it, as `sources[0].mappings[1].fields.quantity`. */
  path: string;
  message: string;
  /** What to do about the flaw, as a full sentence. */
  cure?: string;
}

/** Puts flaws beside the config's other problems. What the config's own rules have said of a place is not said again. */
export function addFlaws(flaws: readonly MappingFlaw[], findings: Findings): void {
  const placed = flaws.map((flaw) => ({ ...flaw, path: segmentsOf(flaw.path) }));
  const isTold = (path: readonly PathSegment[]) => findings.has(path) || findings.has(path.slice(0, MEMBER_DEPTH));
  for (const { path, message, cure } of placed.filter((flaw) => !isTold(flaw.path))) {
    findings.addProblem(path, message, cure);
  }
}

/** A member of a mapping: `sources`, 0, `mappings`, 1, `refs`. */
const MEMBER_DEPTH = 5;

/** The segments of a path within a mapping. A field's name is the last segment, and may contain any character. */
function segmentsOf(path: string): PathSegment[] {
  const match = /^sources\[(\d+)\]\.mappings\[(\d+)\](?:\.(\w+)(?:\.(.+))?)?$/s.exec(path);
  if (!match) return [];
  const [, source, mapping, ...within] = match;
  return ['sources', Number(source), 'mappings', Number(mapping), ...within.filter((segment) => segment !== undefined)];
}
