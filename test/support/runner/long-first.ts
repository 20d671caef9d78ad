import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that last longest, the longest first. */
const LONG = [
  /\/test\/chaos\/truthful-figures\./,
  /\/test\/model\//,
  // It waits for a minute.
  /\/test\/processes\/connectors\/no-descriptors\./,
];

/** Begins with the files that last longest, so that none of them runs alone at the end. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a.moduleId) - rankOf(b.moduleId));
  }
}

function rankOf(file: string): number {
  const rank = LONG.findIndex((pattern) => pattern.test(file));
  return rank === -1 ? LONG.length : rank;
}
