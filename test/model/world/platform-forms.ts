import type { z } from 'zod';
import type { Profile } from '../../../src/domain/profile.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';

const ENVELOPE = '{"data": {"attributes": "$fields"}}';

/** The forms of items and requests: what the platform does, and what the profile of its client says. */
export const FORMS = {
  plain: { platform: {}, profile: {} },
  'fields in attributes': { platform: { entries: 'attributes' }, profile: { list: { entry: 'attributes' } } },
  'a request envelope': {
    platform: { entries: 'attributes', requests: 'data.attributes', idAt: 'data.id' },
    profile: {
      list: { entry: 'attributes' },
      requests: { product: ENVELOPE, material: ENVELOPE, bom_item: ENVELOPE },
    },
  },
  'ids in addresses': {
    platform: { idAt: 'url' },
    profile: { idUrlPaths: { product: ['url'], material: ['url'], bom_item: ['url'] } },
  },
} as const satisfies Record<string, { platform: SandboxOptions; profile: z.input<typeof Profile> }>;
export type Form = keyof typeof FORMS;
