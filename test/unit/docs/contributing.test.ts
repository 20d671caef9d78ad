// CONTRIBUTING.md lists the files that an addition touches. Each file is there and has the example of its list.

import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');

interface Step {
  file: string;
  example: string;
}

/** The files of a list, with the text that each of them has to contain. */
function stepsOf(section: string): Step[] {
  const example = /^Example: `([^`]+)`/m.exec(section)?.[1] ?? '';
  return section.split(/^\d+\. /m).flatMap((step, at) => {
    if (at === 0) return [];
    const own = /\(there: `([^`]+)`\)/.exec(step)?.[1] ?? example;
    return [...step.matchAll(/`([\w./-]+\/[\w./-]+)`/g)].map(([, file = '']) => ({ file, example: own }));
  });
}

const lists = page
  .split(/^### /m)
  .slice(1)
  .map((section) => ({ title: section.split('\n', 1)[0] ?? '', steps: stepsOf(section) }));

describe('CONTRIBUTING.md', () => {
  it('CONTRIBUTING.md lists what to do for each kind of addition', () => {
    expect(lists.length).toBeGreaterThan(6);
    for (const { title, steps } of lists) expect(steps.length, title).toBeGreaterThan(2);
  });

  it.each(lists)('CONTRIBUTING.md names files that exist and have the example: $title', ({ steps }) => {
    for (const { file, example } of steps) {
      expect(example, file).not.toBe('');
      expect(existsSync(join(ROOT, file)), file).toBe(true);
      expect(`${file}\n${readFileSync(join(ROOT, file), 'utf8')}`, file).toContain(example);
    }
  });

  it('CONTRIBUTING.md names each part of src', () => {
    const [, layers = ''] = /^- \*\*Where things are\.\*\*([^]*?)^- /m.exec(page) ?? [];
    const parts = globSync('src/*/', { cwd: ROOT }).map((folder) => basename(folder));
    expect(parts.length).toBeGreaterThan(10);
    expect(parts.filter((part) => !new RegExp(`\\b${part}\\b`).test(layers))).toEqual([]);
  });
});
