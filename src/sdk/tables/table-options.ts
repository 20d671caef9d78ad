import { z } from 'zod';

const Column = z.string().min(1);

const Tree = z
  .strictObject({
    level: Column.optional().describe(
      'The column with the level of a row, such as `0`, `1`, `2` or `.1`, `..2`. Dots before the number do not count.',
    ),
    outline: Column.optional().describe(
      'The column with the outline number of a row, such as `1`, `1.2`, `1.2.3`, in place of `level`.',
    ),
    parent: z
      .record(z.string().min(1), Column)
      .refine((parent) => Object.keys(parent).length > 0, { error: 'at least one column of the parent row' })
      .describe(
        'Columns of the parent row, by the names that they get in the row: `{ assembly: Part }`. The first one names the parent, so it must not be empty in a row that has rows below it.',
      ),
    path: Column.optional().describe(
      'The name of a further column of the row. It has the names of all rows from the top to the row, such as `P-1/A-1/M-1`, so it can be the key of the stream.',
    ),
  })
  .refine(({ level, outline }) => (level === undefined) !== (outline === undefined), {
    error: 'a tree with either `level` or `outline`',
  });
export type Tree = z.infer<typeof Tree>;

const Columns = z.record(z.string().min(1), Column);

const Group = z
  .strictObject({
    by: z
      .array(Column)
      .min(1)
      .describe('The columns whose values the rows of a group have in common. They are columns of the record too.'),
    sum: Columns.optional().describe(
      'Sums over the rows of a group, by the names that they get in the record: `{ mass: Mass }`. They are exact, and a row without a number is an issue of the record.',
    ),
    count: z.string().min(1).optional().describe('The name in the record of the number of rows.'),
    first: Columns.optional().describe(
      'Values of the first row of a group that has one, by the names that they get in the record: `{ name: Name }`.',
    ),
    maxBytes: z
      .int()
      .min(10_000)
      .default(128 * 1024 * 1024)
      .describe(
        'How many bytes of memory the groups may take: about 500 for each group, and 2 for each character of its texts. If there are more, the read stops, and no record is stored.',
      ),
  })
  .refine(
    ({ by, sum = {}, count, first = {} }) =>
      isDistinct([...by, ...Object.keys(sum), ...Object.keys(first), ...(count === undefined ? [] : [count])]),
    {
      error: 'different names in `by`, `sum`, `count` and `first`',
    },
  );
export type Group = z.infer<typeof Group>;

function isDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

/** The stream options of every connector for files that are tables. */
export const TABLE_STREAM = {
  fill: z
    .array(Column)
    .min(1)
    .optional()
    .describe(
      'The columns whose empty cells take the value of the row above, the column of the outermost group first. An empty cell stays empty where a column before it in this list has another value than in the row above, because there a new group begins.',
    ),
  tree: Tree.optional().describe(
    'How the rows form a tree, as in a bill of materials with levels. The parent of a row is the nearest row above it whose level is one less.',
  ),
  group: Group.optional().describe(
    'One record for all rows with the same values, with sums and counts over these rows. The rows may stand anywhere in the files of the stream.',
  ),
};
export type TableStream = z.infer<z.ZodObject<typeof TABLE_STREAM>>;
