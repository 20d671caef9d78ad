import { z } from 'zod';
import { BaseUrl, Secret } from './fields.ts';

const Traces = z
  .strictObject({
    endpoint: BaseUrl.describe(
      'The address to which traces are posted as OTLP over HTTP with JSON, such as https://collector.example.com:4318/v1/traces. It begins with `https://`; `http://` is accepted only for this machine.',
    ),
    headers: z
      .record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'the name of a header'), Secret)
      .default({})
      .describe('Headers of each request, such as one with a token. Their values are secrets.'),
    sampleRatio: z
      .number()
      .min(0, 'a number from 0 to 1')
      .max(1, 'a number from 0 to 1')
      .default(0.01)
      .describe('The share of the items that are traced, each with all its revisions.'),
  })
  .describe(
    'Traces of OpenTelemetry, one for each delivery. Without this section no package of OpenTelemetry is loaded.',
  );

export const ObserveSection = z
  .strictObject({ traces: Traces.optional() })
  .describe('What dpp-sync shows to other systems in addition to the metrics.');
