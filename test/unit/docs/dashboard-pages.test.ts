import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MENU } from '../../../src/web/layout.ts';

it('the page about the dashboard describes each page of the menu, in its order, and the audit log to which the settings link', () => {
  const text = readFileSync('docs/dashboard.md', 'utf8');
  const table = /\| page \| answers \|\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(text)?.[1] ?? '';
  const described = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, name]) => name);
  expect(described).toEqual([...MENU.map(({ name }) => name), 'Audit log']);
});
