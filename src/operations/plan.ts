import { z } from 'zod';
import { worked } from './documents.ts';
import { assertSources } from './named.ts';
import type { Operation } from './operation.ts';
import type { OperationContext, OperationRuntime } from './runtime.ts';

const PlanAsked = z.strictObject({
  /** Source ids; an empty list stands for all. */
  sources: z.array(z.string()).default([]),
});
export type PlanAsked = z.infer<typeof PlanAsked>;

/** The context of a plan. */
export interface PlanContext extends Pick<OperationContext, 'abort' | 'bytes'> {
  runtime: Pick<OperationRuntime, 'config' | 'plan' | 'secrets'>;
}

/** The last line of a plan. */
export interface PlanEnd {
  /** False if the run of a source would fail. */
  ok: boolean;
}

/** Plans the next sync, and writes the lines of the plan to the operation's `bytes`: one JSON object on each line. */
export const planSources: Operation<PlanAsked, PlanEnd, PlanContext> = {
  name: 'plan',
  kind: 'file',
  tag: 'work',
  role: 'viewer',
  summary: 'Plans the next sync: the lines of `plan --json`, each planned item on a line. Sends and stores nothing.',
  request: PlanAsked,
  result: worked(),
  async run({ sources }, { runtime, bytes, abort }) {
    assertSources(runtime.config, sources);
    const scrubbed = (_: string, member: unknown) =>
      typeof member === 'string' ? runtime.secrets.scrubValue(member) : member;
    const write = async (lines: readonly object[]): Promise<void> => {
      const text = lines.map((line) => `${JSON.stringify(line, scrubbed)}\n`).join('');
      await bytes.write(Buffer.from(text));
    };
    return runtime.plan(sources, write, abort);
  },
};
