// Writes the files that are made from the code.

import { writeFileSync } from 'node:fs';
import { generatedFiles } from './generated-files.ts';

for (const [path, text] of Object.entries(generatedFiles())) {
  writeFileSync(new URL(`../../${path}`, import.meta.url), text);
}
