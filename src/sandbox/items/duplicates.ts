import { z } from 'zod';
import { type Answer, invalid, refusal } from '../api/answer.ts';

/** How the sandbox treats a second item with the same key. The document leaves this open. */
export const Duplicates = z.strictObject({
  taken: z
    .boolean()
    .default(false)
    .describe(
      'Whether a second product or material with the same SKU, code or name is accepted as a new item. This setting needs storage in memory.',
    ),
  status: z
    .union([z.literal(400), z.literal(409), z.literal(422)])
    .default(400)
    .describe('The status of the refusal.'),
  detail: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'The text of the answer. It need not mention the existing item. With null the answer names the field, like Django REST Framework.',
    ),
});
export type Duplicates = z.infer<typeof Duplicates>;

/** Refuses a second `noun` with the same value of `field`. */
export function duplicate(noun: string, field: string, { status, detail }: Duplicates): Answer {
  if (detail !== null) return refusal(status, detail);
  return { ...invalid({ [field]: [`${noun} with this ${field} already exists.`] }), status };
}
