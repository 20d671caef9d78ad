import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { actionWords } from '../../../src/domain/words/actions.ts';
import { OPERATIONS } from '../../../src/operations/list.ts';

const WEB = join(import.meta.dirname, '../../../src/web');

/** The actions that the routes of the dashboard name in the audit log. */
function actionsOfRoutes(): string[] {
  const texts = globSync('**/*.ts', { cwd: WEB }).map((file) => readFileSync(join(WEB, file), 'utf8'));
  const found = texts.flatMap((text) => [
    ...text.matchAll(/(?:action: |'(?:editor|operator|viewer)', |\), )'([a-z]+\.[a-z_]+)'/g),
  ]);
  return found.map(([, action = '']) => action);
}

describe('the words for an action', () => {
  const ofOperations = OPERATIONS.filter(({ kind }) => kind === 'act' || kind === 'work').flatMap(({ name, action }) =>
    action === undefined ? [name] : [action],
  );
  const named = new Set([...ofOperations, ...actionsOfRoutes()]);

  it('the actions of operations and of routes are found', () => expect(named.size).toBeGreaterThan(30));

  it.each([...named].toSorted())('an action has words, as the audit log shows it: %s', (action) => {
    expect(actionWords(action)).not.toBe(action);
  });

  it('an action of an older version is shown by its code', () => {
    expect(['queue.empty', 'constructor'].map(actionWords)).toEqual(['queue.empty', 'constructor']);
  });
});
