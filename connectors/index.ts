import type { Connector } from '../src/sdk/index.ts';
import { bmecat } from './bmecat/index.ts';
import { csv } from './csv/index.ts';
import { fixedWidth } from './fixed-width/index.ts';
import { gdsn } from './gdsn/index.ts';
import { json } from './json/index.ts';
import { sapIdoc } from './sap-idoc/index.ts';
import { xlsx } from './xlsx/index.ts';
import { xml } from './xml/index.ts';

/** Every connector there is. Whoever opens one first passes the config through its schemas. */
export const connectors: readonly Connector[] = [csv, json, xlsx, fixedWidth, xml, bmecat, gdsn, sapIdoc];
