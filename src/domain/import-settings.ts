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

export const ImportSettings = z
  .strictObject({
    bodyMember: z
      .string()
      .min(1)
      .max(255)
      .nullable()
      .default('products')
      .describe('The member of the body that has the products; null if the body is a list of products.'),
    membersMax: z.int().min(1).max(10_000).default(100).describe('The highest number of products in one import.'),
    bytesMax: z
      .int()
      .min(1_024)
      .max(67_108_864)
      .default(1_048_576)
      .describe('The highest number of bytes of one import, unless a single product is larger.'),
    creates: z
      .enum(['auto', 'off'])
      .default('auto')
      .describe(
        'Whether new products are sent in imports too. `auto`: they are, if imports save requests. Before that, a first import of one product has to prove that the platform makes exactly one product from it. `off`: never.',
      ),
    createsMin: z
      .int()
      .min(2)
      .max(10_000)
      .default(20)
      .describe('How many new products have to be due before they are sent in imports.'),
    settlesWithinMs: z
      .int()
      .min(0)
      .max(604_800_000)
      .nullable()
      .default(null)
      .describe(
        'How long the platform may need to store products after its answer to an import, in milliseconds, if the answer names no ids. A product that no list shows after this time is sent again. Null means that the time is unknown: the product then stays unconfirmed until a list shows it or a person decides.',
      ),
    lostSettlesWithinMs: z
      .int()
      .min(0)
      .max(604_800_000)
      .default(300_000)
      .describe(
        'How long the platform may need to store the products of an import whose answer was lost, in milliseconds. A product that no list shows after this time is sent again. The setting applies if `settlesWithinMs` is null and the first import has shown that answers name ids.',
      ),
    words: ImportWords,
  })
  .prefault({})
  .describe('The bulk import of products: its form, its size, its use, and the words of its answers.');
