import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTitle, titleOfIssue, titleOfReason } from '../../src/ledger/dashboard/cause-text.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const FOLDERS = ['src/pipeline', 'src/sdk', 'connectors', 'src/ledger/records'];
/** Codes of reports that put no record into quarantine. */
const ELSEWHERE = new Set(['run.failed', 'source.unreadable', 'each.more']);

function codesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .flatMap((entry) => {
      const text = readFileSync(join(entry.parentPath, entry.name), 'utf8');
      return [...text.matchAll(/\bcode: '([a-z_]+\.[a-z_]+)'/g)].map(([, code = '']) => code);
    });
}

describe('the title of a cause', () => {
  it('is written for each code that an issue can have', () => {
    const codes = [...new Set(FOLDERS.flatMap(codesIn))].filter((code) => !ELSEWHERE.has(code));
    expect(codes.length).toBeGreaterThan(25);
    expect(codes.filter((code) => !hasTitle(code))).toEqual([]);
  });

  it('names the field, and no value of a single row', () => {
    const issue = { code: 'country.unknown', field: 'country_of_origin', message: 'The country "EU" is not known.' };
    expect(titleOfIssue(issue)).toBe('Unknown country in country_of_origin.');
  });

  it('of an unknown code is the message without values and numbers', () => {
    const issue = { code: 'own.rule', message: 'Line 141 holds "x", but 17 columns are expected. Correct it.' };
    expect(titleOfIssue(issue)).toBe('Line … holds …, but … columns are expected.');
  });

  it('of a business rule is what the platform says', () => {
    const message = 'The passport cannot be published: review is missing. missing: review.';
    expect(titleOfReason({ code: 'gate', message, fields: { missing: 'review' } })).toBe(
      'The passport cannot be published: review is missing.',
    );
  });
});
