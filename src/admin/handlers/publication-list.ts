import { z } from 'zod';
import type { Listing } from '../../domain/ports/target.ts';
import type { PlatformHandler } from '../handler.ts';
import { readList } from '../read-list.ts';

const Nothing = z.strictObject({});

/** Reads the platform's list of publications, one line for each page. */
export const publicationList: PlatformHandler<z.infer<typeof Nothing>, Listing> = {
  name: 'publication-list',
  isRead: true,
  request: Nothing,
  handle: (_, context) =>
    readList(context, (onPage, options) => context.runtime.platform.publications(onPage, options)),
};
