import { z } from 'zod';
import { Encoding } from '../text-decoder.ts';

/** The options of every connector that reads XML files. */
export const XML_FILE_OPTIONS = {
  encoding: Encoding.optional().describe(
    'The encoding of the files, if they declare no encoding or a wrong one, such as `windows-1252`. A byte order mark takes precedence.',
  ),
  entities: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      'The texts of entities that the files use and do not declare, such as `{ auml: ä }`. External files are never read.',
    ),
  maxRecordBytes: z
    .int()
    .min(64)
    .max(64 * 1024 * 1024)
    .default(1024 * 1024)
    .describe('The longest record that is accepted. Characters are counted.'),
};
