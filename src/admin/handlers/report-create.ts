import { z } from 'zod';
import { IDEMPOTENCY_KEY } from '../../domain/delivery/delivery.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { PlatformHandler } from '../handler.ts';

const ReportCreateRequest = z.strictObject({
  body: z.record(z.string(), z.json()),
  idempotencyKey: z.string().regex(IDEMPOTENCY_KEY),
});
export type ReportCreateRequest = z.infer<typeof ReportCreateRequest>;

/** Asks the platform for a report, once. */
export const reportCreate: PlatformHandler<ReportCreateRequest, Outcome> = {
  name: 'report-create',
  request: ReportCreateRequest,
  async handle(request, { runtime, abort }) {
    const { outcome } = await runtime.platform.createReport(request, abort);
    return outcome;
  },
};
