import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/** Imports that are loaded at run time: the build removes `import type`. */
const LOADED = [
  /(?:^|\n)\s*(?:import|export)\b(?!\s+type\b)[^'";]*?from\s*'([^']+)'/g,
  /(?:^|\n)\s*import\s*'([^']+)'/g,
  /\b(?:import|require\.resolve)\(\s*'([^']+)'/g,
];

function packagesIn(text: string): string[] {
  const specifiers = LOADED.flatMap((form) => [...text.matchAll(form)].map((match) => match[1] ?? ''));
  return specifiers
    .filter((specifier) => !specifier.startsWith('.') && !isBuiltin(specifier))
    .map((specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'));
}

function packagesOf(pattern: string[]): string[] {
  const files = globSync(pattern, { cwd: ROOT });
  expect(files.length).toBeGreaterThan(100);
  return [...new Set(files.flatMap((file) => packagesIn(readFileSync(join(ROOT, file), 'utf8'))))].toSorted();
}

describe('the dependencies of package.json', () => {
  const { dependencies, peerDependencies, peerDependenciesMeta, devDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'peerDependencies' | 'devDependencies', Record<string, string>> & {
    peerDependenciesMeta: Record<string, { optional: boolean }>;
  };

  it('the dependencies of package.json are the packages that the program loads, and no others', () => {
    expect(packagesOf(['src/**/*.{ts,mjs}', 'connectors/**/*.ts'])).toEqual(
      Object.keys({ ...dependencies, ...peerDependencies }).toSorted(),
    );
  });

  it('the packages that people install only for their sources are optional, in the version that the tests have', () => {
    expect(peerDependencies).toEqual({ mssql: devDependencies['mssql'] });
    expect(peerDependenciesMeta).toEqual({ mssql: { optional: true } });
  });

  it('the packages that the program loads are found in every form in which a package can be loaded', () => {
    const text = [
      "import { a } from 'one';",
      "import {\n  b,\n} from '@two/of-it/inner';",
      "import 'three/sub';",
      "const c = await import('four');",
      "require.resolve('five/font.ttf');",
      "export * from 'six';",
      "import type { D } from 'erased';",
      "import { join } from 'node:path';",
      "import { e } from './own.ts';",
    ].join('\n');
    expect(packagesIn(text).toSorted()).toEqual(['@two/of-it', 'five', 'four', 'one', 'six', 'three']);
  });
});
