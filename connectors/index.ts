import type { Connector } from '../src/sdk/index.ts';
import { csv } from './csv/index.ts';
import { json } from './json/index.ts';
import { xlsx } from './xlsx/index.ts';

/** Every connector there is. Whoever opens one first passes the config through its schemas. */
export const connectors: readonly Connector[] = [csv, json, xlsx];
