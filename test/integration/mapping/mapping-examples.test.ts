// The examples of docs/mapping.md: each is written into a folder unchanged, and previewed.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { configFolder, REPOSITORY } from '../../support/worlds/config-folder.ts';

const SECTION = /^## (.+)\n((?:(?!^## ).*\n)*)/gm;
const FILE = /^`([\w.-]+)`:\n\n```\w+\n(.*?)^```$/gms;
const KINDS: Record<string, string> = { bom_item: 'BOM item' };

interface PreviewedRecord {
  status: string;
  place: { file: string; line?: number };
  items: {
    kind: string;
    key: string;
    payload: Record<string, unknown>;
    refs: { role: string; key: string; either?: boolean }[];
  }[];
  issues: { field?: string; code: string }[];
}

const page = readFileSync(join(REPOSITORY, 'docs/mapping.md'), 'utf8');
const examples = [...page.matchAll(SECTION)].flatMap(([, title = '', section = '']) => {
  const [, config] = /```yaml\n(.*?)^```/ms.exec(section) ?? [];
  const [, result] = /```text\n(.*?)^```/ms.exec(section) ?? [];
  const files = Object.fromEntries([...section.matchAll(FILE)].map(([, name = '', text = '']) => [name, text]));
  return config === undefined || result === undefined ? [] : [{ title, config, result, files }];
});

/** The source of an example. A stream that it does not declare is the file of its name, whose first column is the key. */
function sourceOf(config: string, files: Record<string, string>): object {
  const part = parse(config) as { mappings: { stream: string }[]; lookups?: Record<string, { stream?: string }> };
  const [first = ''] = Object.keys(files);
  const used = [...part.mappings, ...Object.values(part.lookups ?? {})].map(({ stream }) => stream);
  const streams = Object.entries(files).flatMap(([file, text]) => {
    const name = file.replace(/\.\w+$/, '');
    const key = file.endsWith('.json') ? 'id' : text.split(/[;,]/, 1)[0];
    return used.includes(name) ? [[name, { path: `./${file}`, key: [key] }]] : [];
  });
  const isJson = first.endsWith('.json');
  const options = isJson ? {} : { delimiter: (files[first] ?? '').split('\n', 1)[0]?.includes(';') ? ';' : ',' };
  return { id: 'erp', connector: isJson ? 'json' : 'csv', options, streams: Object.fromEntries(streams), ...part };
}

function linesOf({ status, place, items, issues }: PreviewedRecord): string[] {
  const at = place.line === undefined ? place.file : `${place.file}:${place.line}`;
  if (status === 'excluded') return [`excluded ${at}`];
  const lines = items.map(({ kind, key, payload, refs }) => {
    const parts = [
      ...refs.map((ref) => `${ref.either === true ? 'part' : ref.role} ${ref.key}`),
      ...Object.entries(payload).map(([name, value]) => `${name} ${String(value)}`),
    ];
    return `${KINDS[kind] ?? kind} ${key}: ${parts.join(', ')}`;
  });
  const flaws = issues.map(({ field, code }) => `quarantined ${at}: ${field} ${code}`);
  return [...lines, ...flaws];
}

describe('the examples of docs/mapping.md', () => {
  it('the examples of docs/mapping.md are many', () => {
    expect(examples.length).toBeGreaterThan(12);
    expect(examples.map(({ title }) => title)).toContain('Read decimal commas');
  });

  it.each(examples)('the example of docs/mapping.md maps: $title', async ({ config, result, files }) => {
    const target = { baseUrl: 'http://127.0.0.1:4290', apiKey: 'a-key-that-is-not-used' };
    const text = stringify({ target, sources: [sourceOf(config, files)] });
    const folder = configFolder({ ...files, 'dpp-sync.yaml': text });
    const { stdout, stderr, exitCode } = await runHere([
      'preview',
      'erp',
      '-c',
      join(folder, 'dpp-sync.yaml'),
      '--json',
      '--limit',
      '50',
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const { streams } = JSON.parse(stdout) as { streams: { stream: string; records: PreviewedRecord[] }[] };
    const mapped = new Set((parse(config) as { mappings: { stream: string }[] }).mappings.map(({ stream }) => stream));
    const lines = streams.filter(({ stream }) => mapped.has(stream)).flatMap(({ records }) => records.flatMap(linesOf));
    expect(`${lines.join('\n')}\n`).toBe(result);
  });
});
