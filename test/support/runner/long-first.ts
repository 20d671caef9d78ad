import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that last longest, the longest first, and files that last longer than their size shows. Others begin by their size. */
const LONG = [
  /\/test\/chaos\/truthful-figures\./,
  /\/test\/(?:conformance|model)\//,
  /\/test\/processes\/connectors\/no-descriptors\./,
  /\/(?:kill-pull-pages|sql-connector|web-access|docs-commands|rate-limits|interruption)\.test\./,
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
