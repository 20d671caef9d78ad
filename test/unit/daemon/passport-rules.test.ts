import { describe, expect, it } from 'vitest';
import { passportRulesOf } from '../../../src/config/loaded-config.ts';

describe('the rules for passports', () => {
  it('the rules for passports leave passports to people without a section in the config, and say that there is none', () => {
    const none = passportRulesOf({ passports: null, sources: [] });
    expect(none).toMatchObject({ init: 'manual', publish: 'manual', isConfigured: false });
    const passports = { init: 'manual', publish: 'manual' } as const;
    expect(passportRulesOf({ passports, sources: [] })).toMatchObject({ ...passports, isConfigured: true });
  });
});
