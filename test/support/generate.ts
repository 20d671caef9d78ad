// Writes the files that are made from the code.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { writeDemoExport } from './demo-export.ts';
import { generatedFiles } from './generated-files.ts';

for (const [path, text] of Object.entries(generatedFiles())) {
  writeFileSync(new URL(`../../${path}`, import.meta.url), text);
}
await writeDemoExport(fileURLToPath(new URL('../../config/demo/exports', import.meta.url)));
