import { type Item, parseItem } from '../../../src/domain/item.ts';
import { type MappedItem, type Mapper, type MapResult, productsOf } from '../../../src/domain/mapping.ts';
import type { Page, SourceReader, SourceRow } from '../../../src/domain/ports/source.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';

/** The kinds of content that a row can have. */
export const FLAVOURS = ['a', 'b', 'c', 'moved', 'bad', 'excluded', 'poison', 'unsendable', 'absent'] as const;
export type Flavour = (typeof FLAVOURS)[number];

/** All rows that the source can have, by stream and id. */
export const ROWS = [
  { stream: 'products', id: 'P1' },
  { stream: 'products', id: 'P2' },
  { stream: 'products', id: 'P3' },
  { stream: 'materials', id: 'M1' },
  { stream: 'materials', id: 'M2' },
  { stream: 'boms', id: 'B1' },
  { stream: 'boms', id: 'B2' },
  { stream: 'boms', id: 'B3' },
  // With these rows there are enough new products for an import to save requests.
  { stream: 'products', id: 'P4' },
  { stream: 'products', id: 'P5' },
] as const;

const SOUND: ReadonlySet<Flavour> = new Set(['a', 'b', 'c']);

export const SOURCE = 'erp';
const STREAMS = ['products', 'materials', 'boms'] as const;
/** The stream that may give only changes. */
const INCREMENTAL = 'materials';

export interface ReadRow {
  stream: string;
  id: string;
  flavour: Flavour;
}

/** The present rows of the source. A run reads each row as it is at that moment. */
export interface ModelSource {
  set(row: number, flavour: Flavour): void;
  /** Gives all rows a flavour, those of the crowd too. */
  fill(flavour: Flavour): void;
  reader(): SourceReader;
  mapper(): Mapper;
  /** Changes the mapping, but no item that it makes. */
  remap(): void;
  /** Fixes every row, and adds the rows that others refer to. */
  fixRows(): void;
  /** The desired items. */
  items(): Item[];
  /** Whether some row cannot be mapped. */
  hasBadRows(): boolean;
  /** For a stream that gives changes: the rows whose last change is before this cursor. */
  changedUpTo(stream: string, cursor: number): ReadRow[];
  /** The rows of the last complete read. */
  lastRead(): readonly ReadRow[];
  /** Informs the source that an older ledger has replaced the ledger. */
  ledgerRestored(): void;
  /**
   * Whether a restored ledger cannot distinguish this BOM item from a new one, because the first complete read missed
   * its row.
   */
  maySeemNew(key: string): boolean;
  /** Whether the row, or a row that a BOM item refers to, once had another natural key. */
  wasMoved(key: string): boolean;
}

/**
 * @param incremental whether one of the streams gives only the changes since a cursor
 * @param crowd how many products there are beside `ROWS`, which change only together
 */
export function createModelSource({ incremental, crowd = 0 }: { incremental: boolean; crowd?: number }): ModelSource {
  const more = Array.from({ length: crowd }, (_, index) => ({ stream: 'products', id: `P${100 + index}` }) as const);
  const all = [...ROWS, ...more];
  const flavours: Flavour[] = all.map(() => 'absent');
  /** The number of the last change of each row. */
  const changes = all.map(() => 0);
  let lastChange = 0;
  let revision = 1;
  let read: { rows: ReadRow[]; isOver: boolean } = { rows: [], isOver: false };
  /** Rows of BOM items that the first whole read after a restore may miss. */
  let gone: readonly string[] = [];
  const seemNew = new Set<string>();
  const moved = new Set<string>();

  function set(row: number, flavour: Flavour): void {
    if (flavours[row] === flavour) return;
    flavours[row] = flavour;
    lastChange += 1;
    changes[row] = lastChange;
    if (flavour === 'moved') moved.add(all[row]?.id ?? '');
  }

  const present = (stream: string): (ReadRow & { change: number })[] =>
    all.flatMap(({ stream: own, id }, index) => {
      const flavour = flavours[index] ?? 'absent';
      return own === stream && flavour !== 'absent' ? [{ stream, id, flavour, change: changes[index] ?? 0 }] : [];
    });

  /**
   * A row that changes during a read is given by the next read, because a row that comes twice in one read counts as
   * two rows.
   */
  async function* readChanges(cursor: JsonValue, into: ReadRow[]): AsyncGenerator<Page> {
    const until = lastChange;
    for (let at = Number(cursor ?? 0); ; ) {
      const fresh = present(INCREMENTAL).filter(({ change }) => change > at && change <= until);
      const [first] = fresh.sort((a, b) => a.change - b.change);
      if (first === undefined) return;
      into.push(first);
      at = first.change;
      yield { rows: rowsOf(INCREMENTAL).filter(({ fields }) => fields['id'] === first.id), cursor: at };
    }
  }

  async function* readAll(stream: string, into: ReadRow[]): AsyncGenerator<Page> {
    const rows = rowsOf(stream);
    // A complete read with bad rows only would fail, and then no later stream would be read.
    if (rows.length > 0 && rows.every(({ fields }) => fields['flavour'] === 'bad')) rows.push(spare(stream));
    into.push(...present(stream));
    for (let at = 0; at < rows.length; at += 2) yield { rows: rows.slice(at, at + 2) };
  }

  const spare = (stream: string): SourceRow => ({
    fields: { id: 'spare', flavour: 'excluded' },
    place: { file: `${stream}.csv`, line: all.length + 1 },
  });

  function readToEnd(): void {
    for (const id of gone) if (!read.rows.some((row) => row.id === id)) seemNew.add(id);
    gone = [];
  }

  function rowsOf(stream: string): SourceRow[] {
    return all.flatMap((row, index) => {
      const flavour = flavours[index] ?? 'absent';
      if (row.stream !== stream || flavour === 'absent') return [];
      return [{ fields: { id: row.id, flavour }, place: { file: `${stream}.csv`, line: index + 1 } }];
    });
  }

  return {
    set,
    fill(flavour) {
      for (const row of all.keys()) set(row, flavour);
    },
    reader() {
      const mine = { rows: [] as ReadRow[], isOver: false };
      read = mine;
      return {
        streams: STREAMS.map((name) => ({
          name,
          key: ['id'],
          reads: incremental && name === INCREMENTAL ? 'changes' : 'snapshot',
          async *pull({ cursor }) {
            yield* incremental && name === INCREMENTAL ? readChanges(cursor, mine.rows) : readAll(name, mine.rows);
            if (name !== STREAMS.at(-1)) return;
            mine.isOver = true;
            if (read === mine) readToEnd();
          },
        })),
        acknowledge: () => Promise.resolve(),
        close: () => Promise.resolve(),
      };
    },
    mapper: () => ({ revision: `r${revision}`, streams: STREAMS, map: ({ fields }) => mapRow(fields) }),
    remap() {
      revision += 1;
    },
    fixRows() {
      for (const [index, { stream }] of all.entries()) {
        const flavour = flavours[index] ?? 'absent';
        if (SOUND.has(flavour) || (flavour === 'absent' && stream === 'boms')) continue;
        set(index, 'a');
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
    hasBadRows: () => flavours.includes('bad'),
    changedUpTo: (stream, cursor) =>
      stream === INCREMENTAL ? present(stream).filter(({ change }) => change <= cursor) : [],
    lastRead: () => (read.isOver ? read.rows : []),
    ledgerRestored() {
      read = { rows: [], isOver: false };
      gone = ROWS.flatMap(({ stream, id }) => (stream === 'boms' ? [id] : []));
    },
    maySeemNew: (key) => seemNew.has(key),
    wasMoved: (key) => [key, ...endsOf(key)].some((one) => moved.has(one)),
  };
}

function mapRow({ id, flavour }: JsonObject): MapResult {
  const key = typeof id === 'string' ? id : '';
  if (flavour === 'excluded') return { status: 'excluded' };
  const parsed = parseItem(itemOf(key, flavour as Flavour));
  if (parsed.ok) return { status: 'mapped', items: [{ ...parsed.value, mapping: 0 }] };
  const sound: MappedItem = { ...itemOf(key, 'a'), mapping: 0 };
  return { status: 'quarantined', issues: parsed.error, blockedProducts: productsOf([sound]) };
}

/** A text that only payloads contain. */
export const PAYLOAD_MARK = 'payload-text';
/** The name of a product or material that cannot be encoded: the process throws where it claims one. */
export const UNSENDABLE = `${PAYLOAD_MARK} unsendable`;

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

/** The keys that a BOM item can refer to. */
function endsOf(key: string): string[] {
  const refs = ['a', 'moved'].flatMap((flavour) => (key in PARTS ? bomItemOf(key, flavour as Flavour).refs : []));
  return refs.map((ref) => ref.key);
}

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
