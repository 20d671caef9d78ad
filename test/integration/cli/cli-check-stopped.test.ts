// `check` that is stopped while a server does not answer.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type CliProcess, startCli } from '../../support/cli/cli.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { type RestReply, type RestServer, startRestServer } from '../../support/rest/rest-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'dpp-stopped-'));
let server: RestServer;
afterEach(() => server.close());
afterAll(() => removeFolder(folder));

it.each(['/items', '/api/'])(
  'check says that it was stopped, and blames neither the source nor the API: %s',
  async (silent) => {
    let child: CliProcess;
    server = await startRestServer(({ path }): RestReply | Promise<RestReply> => {
      if (!path.startsWith(silent)) return { body: [{ id: 1 }] };
      child.signal('SIGINT');
      return new Promise(() => {});
    });
    const config = {
      target: { baseUrl: server.base, apiKey: 'dpp_of_this_test_0123456789' },
      ledger: join(folder, 'ledger.db'),
      sources: [
        {
          id: 'erp',
          connector: 'rest',
          options: { base: server.base },
          streams: { items: { get: 'items', page: { by: 'none' }, key: ['id'] } },
          mappings: [
            { stream: 'items', to: 'product', key: 'string(row.id)', fields: { sku: 'row.id', name: 'row.id' } },
          ],
        },
      ],
    };
    const file = join(folder, 'dpp-sync.yaml');
    writeFileSync(file, stringify(config));
    child = startCli(['check', '-c', file]);
    const { exitCode, stdout, stderr } = await child.ended;
    expect(stderr).toContain('The command was stopped before its work was done.');
    expect(stdout + stderr).not.toContain('aborted');
    expect(stdout).not.toContain('✗');
    expect(exitCode).toBe(1);
  },
);
