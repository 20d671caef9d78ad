import { z } from 'zod';
import { defineOperation } from './operation.ts';
import type { OperationContext, OperationRuntime } from './runtime.ts';
import { Tested } from './test-document.ts';

const TestAsked = z.strictObject({
  files: z.array(z.string()).optional().describe('Files with cases; without any, the file beside the config.'),
});

/** The context of a test: the mappings alone. */
export interface TestContext extends Pick<OperationContext, 'abort'> {
  runtime: Pick<OperationRuntime, 'testCases'>;
}

/** Runs cases of the mappings: rows, and what the mappings have to make of them. Needs no source, no ledger and no platform. */
export const testMappings = defineOperation({
  name: 'test',
  kind: 'look',
  tag: 'daemon',
  role: 'viewer',
  summary: 'Runs the cases beside the config, with the config and the mappings as they are on the disk.',
  at: 'GET /test',
  request: TestAsked,
  // Only a person on the machine names files of the machine.
  overHttp: TestAsked.omit({ files: true }),
  result: Tested,
  exitCode: ({ failed }) => (failed === 0 ? 0 : 1),
  run: ({ files = [] }, { runtime, abort }: TestContext) => runtime.testCases(files, abort),
});
