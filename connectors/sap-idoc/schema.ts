import { CHANGES_BY_DEFAULT, XML_FILE_OPTIONS, z } from '../../src/sdk/index.ts';

const Name = z.string().min(1);

/** The source's `options`. */
export const OPTIONS = {
  ...XML_FILE_OPTIONS,
  maxRecordBytes: XML_FILE_OPTIONS.maxRecordBytes
    .default(16 * 1024 * 1024)
    .describe('The longest IDoc that is accepted. Characters are counted.'),
  messages: z
    .array(Name)
    .default([])
    .describe('The message types (MESTYP) that are read, such as `[MATMAS]`. By default all types are read.'),
};
export type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. */
export const STREAM_OPTIONS = {
  ...CHANGES_BY_DEFAULT,
  segment: Name.describe('The segment whose occurrences are the rows, such as `E1MARAM`, `E1MARCM` or `E1STPOM`.'),
  fields: z
    .array(Name)
    .default([])
    .describe(
      'Fields that each row has, such as `[HERKL, NTGEW]`. SAP leaves out empty fields; a field of this list is then empty text.',
    ),
  parent: z
    .record(Name, z.string().regex(/^[^/]+(\/[^/]+)+$/, 'Write a path such as E1STZUM/E1MASTM/MATNR.'))
    .default({})
    .describe(
      'Fields of the segments around the row, by the names that they get in the row: `{ MATNR: E1STZUM/E1MASTM/MATNR }`. If SAP has left out a field, its value is empty text.',
    ),
};
export type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;
