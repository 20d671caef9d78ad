import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { shellValue, shellWord } from '../../../src/lib/text/safe-text.ts';

describe('a word of a command line', () => {
  it('a word of a command line is left as it is where a shell takes it as it is', () => {
    expect(shellWord('00012001/0010')).toBe('00012001/0010');
  });

  it.each(['a b', "it's", '$(id)', '`id`', 'a"b', 'Größe', '', 'a;b', '*'])('a shell gives back %j', (text) => {
    expect(execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' })).toBe(text);
  });

  it('a word of a command line ends the options before it where it looks like one', () => {
    expect(shellWord('-x')).toBe('-- -x');
  });

  it('a word of a command line may look like an option where it is the value of one', () => {
    expect(shellValue('-x')).toBe('-x');
    expect(shellValue('-x y')).toBe("'-x y'");
  });
});
