import { expect, it } from 'vitest';
import { z } from 'zod';
import { schemaTreeOf } from '../../../src/config/schema/schema-walk.ts';
import { schemaSections } from '../../generate/schema-tables.ts';

const Size = z.strictObject({ bytes: z.int().describe('How many bytes.') }).describe('The size.');
const Page = z
  .discriminatedUnion('by', [
    z.strictObject({ by: z.literal('none').describe('One page.') }),
    z.strictObject({ by: z.literal('link').describe('A link.'), next: z.string().describe('Its path.'), size: Size }),
    z.strictObject({ by: z.literal('token').describe('A token.'), size: Size }),
  ])
  .describe('The pages.');
const sectionsOf = (shape: z.ZodRawShape) => schemaSections(schemaTreeOf(z.strictObject(shape))).join('\n');

it('the forms of a value have a list, and each form with further keys has a table', () => {
  expect(sectionsOf({ page: Page })).toBe(`| key | value | default | what it is |
|---|---|---|---|
| \`page\` | object, required |  | The pages. |

### \`page\`

The pages.

| with | what it is |
|---|---|
| \`by: none\` | One page. |
| \`by: link\` | A link. |
| \`by: token\` | A token. |

### \`page\` with \`by: link\`

| key | value | default | what it is |
|---|---|---|---|
| \`next\` | text, required |  | Its path. |
| \`size\` | object, required |  | The size. |

### \`page\` with \`by: token\`

| key | value | default | what it is |
|---|---|---|---|
| \`size\` | object, required |  | The size. |

### \`page.size\`

The size.

| key | value | default | what it is |
|---|---|---|---|
| \`bytes\` | whole number, required |  | How many bytes. |
`);
});

it('a value with forms that were shown names the place where they are', () => {
  expect(sectionsOf({ page: Page, other: Page.describe('Other pages.') })).toContain(
    '### `other`\n\nOther pages. It has the same forms as `page`.\n',
  );
});

it('forms without a common key are named by the key that only they have', () => {
  const forms = z.union([
    z.strictObject({ after: z.string().describe('A time.'), all: z.boolean().describe('All.') }),
    z.strictObject({ link: z.string().describe('A link.'), all: z.boolean().describe('All.') }),
  ]);
  const text = sectionsOf({ changes: forms.describe('The changes.') });
  expect(text).toContain('### `changes` with `after`');
  expect(text).toContain('### `changes` with `link`');
});

it('a list of objects in place of an object has one table', () => {
  const form = z.strictObject({ at: z.string().describe('A path.') });
  const text = sectionsOf({ failure: z.union([form, z.array(form)]).describe('A place, or several.') });
  expect(text).toContain('| `failure` | object or list of object, required |  | A place, or several. |');
  expect(text.match(/^\| `at`/gm)).toHaveLength(1);
});
