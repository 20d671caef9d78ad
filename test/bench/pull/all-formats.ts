import { FILE_FORMATS, type Format } from './formats.ts';
import { restPages } from './rest-pages.ts';

/** The formats that are measured. */
export const FORMATS: readonly Format[] = [...FILE_FORMATS, restPages(0), restPages(20)];
