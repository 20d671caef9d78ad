import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REASON_CODES } from '../../../src/domain/delivery/reason.ts';
import { FAULT_EXIT_CODES } from '../../../src/domain/faults.ts';
import { issueCodes } from '../../generate/issue-codes.ts';
import { FAULT_TEXTS, SANDBOX_FAULT_TEXTS } from '../../generate/troubleshooting/fault-texts.ts';
import { ISSUE_GROUPS } from '../../generate/troubleshooting/issue-texts.ts';
import { REASON_TEXTS } from '../../generate/troubleshooting/reason-texts.ts';

const ROOT = join(import.meta.dirname, '../../..');
const page = readFileSync(join(ROOT, 'docs/troubleshooting.md'), 'utf8');
const described = ISSUE_GROUPS.flatMap(({ codes }) => Object.keys(codes));

describe('docs/troubleshooting.md', () => {
  it('docs/troubleshooting.md has each code of an error and of a delivery', () => {
    const codes = [...Object.keys(FAULT_EXIT_CODES), ...REASON_CODES];
    expect(codes.filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([]);
  });

  it('docs/troubleshooting.md has each code of the sandbox, with its exit code', () => {
    const found = globSync('src/sandbox/**/*.ts', { cwd: ROOT }).flatMap((file) => [
      ...readFileSync(join(ROOT, file), 'utf8').matchAll(/new Fault\(\s*'([a-z.]+)', (\d)/g),
    ]);
    const exitCodes = Object.fromEntries(found.map(([, code = '', exitCode]) => [code, Number(exitCode)]));
    const documented = Object.entries(SANDBOX_FAULT_TEXTS).map(([code, { exitCode }]) => [code, exitCode]);
    expect(Object.fromEntries(documented)).toEqual(exitCodes);
  });

  it('docs/troubleshooting.md has each issue that the code can report once, and no other', () => {
    const found = issueCodes();
    expect(found.length).toBeGreaterThan(60);
    expect(described.toSorted()).toEqual(found);
  });

  it('docs/troubleshooting.md says in full sentences what each code means and what to do', () => {
    const issues = ISSUE_GROUPS.flatMap(({ codes }) => Object.values(codes));
    const texts = [
      ...Object.values(FAULT_TEXTS),
      ...Object.values(SANDBOX_FAULT_TEXTS),
      ...Object.values(REASON_TEXTS),
      ...issues,
    ];
    for (const { means, cure } of texts) {
      expect(means).toMatch(/^(?:[A-Z`]|dpp-sync ).*\.$/s);
      expect(cure).toMatch(/^[A-Z`[].*\.$/s);
    }
  });
});
