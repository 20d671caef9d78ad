import { type Item, parseItem } from '../../../src/domain/item.ts';
import { type MappedItem, type Mapper, type MapResult, productsOf } from '../../../src/domain/mapping.ts';
import type { SourceReader, SourceRow } from '../../../src/domain/ports/source.ts';
import type { JsonObject } from '../../../src/lib/json.ts';

/** What a row of the source says. */
export const FLAVOURS = ['a', 'b', 'c', 'moved', 'bad', 'excluded', 'poison', 'absent'] as const;
export type Flavour = (typeof FLAVOURS)[number];

/** Everything that the source can ever have: a stream and an id each. */
export const ROWS = [
  { stream: 'products', id: 'P1' },
  { stream: 'products', id: 'P2' },
  { stream: 'products', id: 'P3' },
  { stream: 'materials', id: 'M1' },
  { stream: 'materials', id: 'M2' },
  { stream: 'boms', id: 'B1' },
  { stream: 'boms', id: 'B2' },
  { stream: 'boms', id: 'B3' },
] as const;

const SOUND: ReadonlySet<Flavour> = new Set(['a', 'b', 'c']);

export const SOURCE = 'erp';
const STREAMS = ['products', 'materials', 'boms'] as const;

/** The source's rows as they are now; a run reads them as they are when it comes to them. */
export interface ModelSource {
  set(row: number, flavour: Flavour): void;
  reader(): SourceReader;
  mapper(): Mapper;
  /** The mapping has changed, though nothing that it makes. */
  remap(): void;
  /** Every row is as it should be, and those that others point to are there. */
  mend(): void;
  /** The items that it asks for. */
  items(): Item[];
}

export function createModelSource(): ModelSource {
  const flavours: Flavour[] = ROWS.map(() => 'absent');
  let revision = 1;

  function rowsOf(stream: string): SourceRow[] {
    return ROWS.flatMap((row, index) => {
      const flavour = flavours[index] ?? 'absent';
      if (row.stream !== stream || flavour === 'absent') return [];
      return [{ fields: { id: row.id, flavour }, place: { file: `${stream}.csv`, line: index + 1 } }];
    });
  }

  return {
    set(row, flavour) {
      flavours[row] = flavour;
    },
    reader: () => ({
      streams: STREAMS.map((name) => ({
        name,
        key: ['id'],
        snapshot: true,
        async *read() {
          const rows = rowsOf(name);
          for (let at = 0; at < rows.length; at += 2) yield { rows: rows.slice(at, at + 2) };
        },
      })),
      close: () => Promise.resolve(),
    }),
    mapper: () => ({ revision: `r${revision}`, streams: STREAMS, map: ({ fields }) => mapRow(fields) }),
    remap() {
      revision += 1;
    },
    mend() {
      for (const [index, { stream }] of ROWS.entries()) {
        const flavour = flavours[index] ?? 'absent';
        if (SOUND.has(flavour) || (flavour === 'absent' && stream === 'boms')) continue;
        flavours[index] = 'a';
      }
    },
    items() {
      return STREAMS.flatMap((stream) =>
        rowsOf(stream).flatMap(({ fields }) => {
          const result = mapRow(fields);
          return result.status === 'mapped' ? result.items : [];
        }),
      );
    },
  };
}

function mapRow({ id, flavour }: JsonObject): MapResult {
  const key = typeof id === 'string' ? id : '';
  if (flavour === 'excluded') return { status: 'excluded' };
  const parsed = parseItem(itemOf(key, flavour as Flavour));
  if (parsed.ok) return { status: 'mapped', items: [{ ...parsed.value, mapping: 0 }] };
  const sound: MappedItem = { ...itemOf(key, 'a'), mapping: 0 };
  return { status: 'quarantined', issues: parsed.error, holds: productsOf([sound]) };
}

/** The text that payloads carry and nothing else does. */
export const PAYLOAD_MARK = 'payload-text';

function itemOf(key: string, flavour: Flavour): Item {
  if (key.startsWith('P')) return productOf(key, flavour);
  return key.startsWith('M') ? materialOf(key, flavour) : bomItemOf(key, flavour);
}

function productOf(key: string, flavour: Flavour): Item {
  const payload: JsonObject = {
    sku: flavour === 'moved' ? `S-${key}-moved` : `S-${key}`,
    name: flavour === 'bad' ? '' : `${PAYLOAD_MARK} ${flavour}`,
    // No country has this code.
    country_of_origin: flavour === 'poison' ? 'ZZ' : 'DE',
    ...(flavour === 'b' ? { description: `${PAYLOAD_MARK} described` } : {}),
  };
  return { kind: 'product', key, payload, refs: [] };
}

function materialOf(key: string, flavour: Flavour): Item {
  const payload: JsonObject = {
    code: `C-${key}`,
    name: flavour === 'bad' ? '' : `${PAYLOAD_MARK} ${flavour}`,
    origin_country: 'DE',
    ...(flavour === 'b' ? { category: `${PAYLOAD_MARK} sorted` } : {}),
    ...(flavour === 'poison' ? { composition: [{ name: 'x', cas: '1-1-1', mass_fraction: '0.5' }] } : {}),
  };
  return { kind: 'material', key, payload, refs: [] };
}

const PARTS: Record<string, Item['refs']> = {
  B1: [
    { role: 'product', kind: 'product', key: 'P1' },
    { role: 'material', kind: 'material', key: 'M1' },
  ],
  B2: [
    { role: 'product', kind: 'product', key: 'P2' },
    { role: 'material', kind: 'material', key: 'M2' },
  ],
  B3: [
    { role: 'product', kind: 'product', key: 'P1' },
    { role: 'component', kind: 'product', key: 'P3' },
  ],
};

function bomItemOf(key: string, flavour: Flavour): Item {
  const payload: JsonObject = {
    quantity: flavour === 'bad' ? '-1' : flavour === 'b' ? '2' : flavour === 'c' ? '3' : '1',
    position: key,
    ...(flavour === 'poison' ? { valid_from: '2026-02-01', valid_to: '2026-01-01' } : {}),
  };
  const other: Item['refs'] = [
    { role: 'product', kind: 'product', key: 'P2' },
    { role: 'material', kind: 'material', key: 'M1' },
  ];
  return { kind: 'bom_item', key, payload, refs: flavour === 'moved' ? other : (PARTS[key] ?? []) };
}
