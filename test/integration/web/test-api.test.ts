// The cases of the mappings, run by a daemon for the admin API.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { createCaseRuns } from '../../../src/daemon/cases/case-runs.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { createProductsWorld, type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';

const PROCESS = join(import.meta.dirname, '../../../src/daemon/cases/cases-process.ts');
const caseOf = (name: string) => `  - name: ${name}
    given: { stream: default, row: { SKU: A-1, NAME: Kettle, STATE: "10" } }
    expect:
      items:
        - { kind: product, key: A-1, fields: { sku: A-1, name: ${name}, status: DRAFT, country_of_origin: DE } }
`;
const CASES = `cases:\n${caseOf('Kettle')}`;

let web: ServedWorld;
beforeEach(async () => {
  const world = await createProductsWorld();
  world.write('dpp-sync.cases.yaml', CASES);
  web = await startDaemon(world);
});
afterEach(() => web.remove());

const ask = (query = ''): Promise<Response> =>
  fetch(`${web.url}/api/v1/test${query}`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
const ofCommand = async () => {
  const { stdout, exitCode } = await runHere(['test', '--json', '-c', web.world.configFile]);
  return { document: JSON.parse(stdout) as object, exitCode };
};

interface Config {
  sources: { mappings: { fields: Record<string, string>; module?: string }[] }[];
}
function changeConfig(change: (config: Config) => void): void {
  const config = parse(readFileSync(web.world.configFile, 'utf8')) as Config;
  change(config);
  web.world.write('dpp-sync.yaml', stringify(config));
}
/** A module in the place of the mapping of the products. */
function useModule(body: string): void {
  web.world.write('map.mjs', `export default { map(row) { ${body} } };\n`);
  changeConfig(({ sources: [source] }) => {
    if (source !== undefined) source.mappings = [{ module: './map.mjs' } as never];
  });
}

describe('GET /api/v1/test', () => {
  it('answers with what `test --json` prints, and asks the platform nothing', async () => {
    web.world.write('dpp-sync.cases.yaml', `${CASES}${caseOf('Toaster')}`);
    web.world.requests();
    const answer = await ask();
    expect(answer.status).toBe(200);
    const document = await answer.json();
    expect(document).toEqual((await ofCommand()).document);
    expect(document).toMatchObject({ ok: false, passed: 1, failed: 1, untested: [] });
    expect(web.world.requests()).toEqual({});
  });

  it('shows no secret', async () => {
    web.world.write('dpp-sync.cases.yaml', CASES.replace('NAME: Kettle', `NAME: ${WEB_TOKEN}`));
    const text = await (await ask()).text();
    expect(text).toContain('"failed":1');
    expect(text).not.toContain(WEB_TOKEN);
  });

  it('names no file of the machine for a caller', async () => {
    const answer = await ask('?files=/etc/passwd');
    expect(answer.status).toBe(422);
    expect(await answer.text()).not.toContain('root:');
  });

  it('tests the files as they are, and names the sources whose mapping the daemon has not loaded', async () => {
    // The daemon refuses this config, because it would have to be restarted for its target.
    changeConfig((config) => {
      Object.assign(config, { queue: 'redis://127.0.0.1:1/0' });
      for (const { mappings } of config.sources) for (const { fields } of mappings) fields['name'] = '"Pot"';
    });
    web.world.write('dpp-sync.cases.yaml', `cases:\n${caseOf('Pot')}`);
    await expect(web.daemon.reload('person')).resolves.toMatchObject({ ok: false });
    expect(await (await ask()).json()).toEqual({ ...(await ofCommand()).document, notLoaded: ['erp'] });
  });

  it('names a source whose lookup file the daemon has not loaded', async () => {
    changeConfig((config) => Object.assign(config, { queue: 'redis://127.0.0.1:1/0' }));
    web.world.write('status.csv', 'key,value\n10,DRAFT\n20,ARCHIVED\n30,ACTIVE\n');
    await expect(web.daemon.reload('person')).resolves.toMatchObject({ ok: false });
    expect(await (await ask()).json()).toMatchObject({ ok: true, notLoaded: ['erp'] });
  });

  it('answers with a problem document where there are no cases, or wrong ones', async () => {
    web.world.write('dpp-sync.cases.yaml', 'cases: [{ name: x }]');
    const wrong = await ask();
    expect(wrong.status).toBe(409);
    expect(await wrong.json()).toMatchObject({ code: 'cases.invalid' });
    rmSync(join(web.world.folder, 'dpp-sync.cases.yaml'));
    const missing = await ask();
    expect(missing.status).toBe(404);
    expect(await missing.json()).toMatchObject({ code: 'cases.missing' });
  });

  it('runs no module that everybody may change', async () => {
    useModule(`throw new Error('run');`);
    chmodSync(join(web.world.folder, 'map.mjs'), 0o666);
    const answer = await ask();
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({ code: 'config.invalid', detail: expect.stringContaining('map.mjs') });
  });
});

describe('the cases in a daemon', () => {
  const signal = new AbortController().signal;
  const runs = (limits: { endWithinMs: number; heapMbMax: number }) =>
    createCaseRuns({ ...web.daemon.runtime, limits });

  it('a module that does not end is stopped, and the next cases run', async () => {
    useModule('for (;;) {}');
    const { test } = runs({ endWithinMs: 1000, heapMbMax: 512 });
    await expect(test([], signal)).rejects.toMatchObject({
      code: 'cases.stopped',
      message: 'The cases were not done within 1 s.',
    });
    useModule(`return [{ kind: 'product', key: row.SKU, payload: { sku: row.SKU, name: row.NAME } }];`);
    await expect(web.daemon.runtime.testCases([], signal)).resolves.toMatchObject({ failed: 1 });
  });

  it('a module that needs too much memory, or ends its process, does not end the daemon', async () => {
    useModule('const all = []; for (;;) all.push([row.SKU]);');
    const { test } = runs({ endWithinMs: 60_000, heapMbMax: 64 });
    await expect(test([], signal)).rejects.toMatchObject({
      code: 'cases.stopped',
      message: 'The cases need more than 64 MB of memory.',
    });
    useModule('process.exit(0);');
    await expect(test([], signal)).rejects.toMatchObject({
      code: 'cases.stopped',
      message: expect.stringContaining('has ended before it was done'),
    });
  });

  it('the process of a module that does not end has an end of its own, if the daemon was killed', async () => {
    useModule('for (;;) {}');
    const task = { configFile: web.world.configFile, files: [] };
    const child = spawn(process.execPath, [PROCESS, JSON.stringify(task), '1']);
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  });

  it('one caller at a time gets the cases, and a daemon stops beside a module that does not end', async () => {
    useModule('for (;;) {}');
    const running = web.daemon.runtime.testCases([], signal);
    const busy = await ask();
    expect(busy.status).toBe(429);
    expect(await busy.json()).toMatchObject({ code: 'daemon.busy' });
    const stopped = expect(running).rejects.toMatchObject({ code: 'daemon.stopped' });
    await web.daemon.stop();
    await stopped;
  });

  it('a caller who has gone ends the cases', async () => {
    useModule('for (;;) {}');
    const gone = new AbortController();
    const running = web.daemon.runtime.testCases([], gone.signal);
    gone.abort(new Error('gone'));
    await expect(running).rejects.toThrow('gone');
  });
});
