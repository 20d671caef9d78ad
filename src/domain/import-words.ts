import { z } from 'zod';

const words = (...defaults: string[]) => z.array(z.string().min(1).max(255)).max(50).default(defaults);

/** The words by which the answer to an import states what became of a product: a list for each result. */
export const ImportWords = z
  .strictObject({
    created: words('create', 'created', 'insert', 'inserted', 'add', 'added', 'new').describe(
      'The product was created.',
    ),
    updated: words(
      'update',
      'updated',
      'modified',
      'changed',
      'replaced',
      'unchanged',
      'no_change',
      'nochange',
      'not_modified',
      'no_op',
      'noop',
    ).describe('The product was there, and has the content that was sent.'),
    stored: words(
      'ok',
      'success',
      'succeeded',
      'successful',
      'imported',
      'upsert',
      'upserted',
      'saved',
      'stored',
      'done',
      'complete',
      'completed',
      'draft',
    ).describe('The product was created or updated. `draft` is the status of a product that was just created.'),
    refused: words(
      'failed',
      'failure',
      'error',
      'errored',
      'invalid',
      'rejected',
      'refused',
      'skipped',
      'ignored',
      'conflict',
    ).describe('The product was not stored.'),
    exists: words('exists', 'exist', 'existing', 'already_exists', 'duplicate').describe(
      'The product was there, and was not changed.',
    ),
  })
  .prefault({})
  .describe(
    'The words by which an answer states the result of a product, in upper or lower case. A product with a word that is in no list is looked up in the list of products.',
  );
export type ImportWords = z.infer<typeof ImportWords>;
