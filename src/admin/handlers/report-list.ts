import { z } from 'zod';
import type { Listing } from '../../domain/ports/target.ts';
import type { PlatformHandler } from '../handler.ts';
import { readList } from '../read-list.ts';

const Nothing = z.strictObject({});

/** Reads the platform's list of reports, one line for each page. */
export const reportList: PlatformHandler<z.infer<typeof Nothing>, Listing> = {
  name: 'report-list',
  isRead: true,
  request: Nothing,
  handle: (_, context) => readList(context, (onPage, options) => context.runtime.platform.reports(onPage, options)),
};
