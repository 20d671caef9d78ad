// Writes the files that are generated from the code.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { writeDemoExport } from './demo-export.ts';
import { generatedFiles } from './generated-files.ts';
import { GETTING_STARTED, gettingStarted } from './getting-started.ts';

for (const [path, text] of Object.entries(generatedFiles())) {
  writeFileSync(new URL(`../../${path}`, import.meta.url), text);
}
writeFileSync(new URL(`../../${GETTING_STARTED}`, import.meta.url), await gettingStarted());
await writeDemoExport(fileURLToPath(new URL('../../config/demo/exports', import.meta.url)));
