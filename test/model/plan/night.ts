// Scripts for the model of plans: a world, and nights. In each night the export changes, a plan is made, and it is compared with what
// happens then.

import type { Operation } from '../../../src/domain/delivery/operation.ts';

export interface ProductRow {
  id: string;
  sku: string;
  name: string;
  country: string;
  note: string;
}
export interface MaterialRow {
  id: string;
  name: string;
  recycled: string;
}
export interface LineRow {
  id: string;
  product: string;
  part: string;
  quantity: string;
}

/** What the sources have in a night. */
export interface Export {
  products: ProductRow[];
  materials: MaterialRow[];
  lines: LineRow[];
}

export const PRODUCTS = ['P1', 'P2', 'P3', 'P4'] as const;
export const MATERIALS = ['M1', 'M2', 'M3'] as const;

/** The export before the first night. Each product is complete, so its passport can be published. */
export const FIRST_EXPORT: Export = {
  products: PRODUCTS.map((id) => ({ id, sku: `SKU-${id}`, name: 'Fan', country: 'DE', note: '' })),
  materials: MATERIALS.map((id) => ({ id, name: 'Steel', recycled: '0.1' })),
  lines: [
    { id: '1', product: 'P1', part: 'M1', quantity: '1' },
    { id: '2', product: 'P1', part: 'P2', quantity: '1' },
    { id: '3', product: 'P2', part: 'M2', quantity: '1' },
    { id: '4', product: 'P3', part: 'M3', quantity: '1' },
  ],
};

/** The config, the profile and the platform. They stay the same in all nights. */
export interface Setup {
  passports: 'published' | 'prepared' | 'by hand';
  onMissing: 'unpublish' | 'flag' | 'ignore';
  /** How much of an export may be missing. */
  guard: '100%' | '40%';
  /** Whether the files of materials have only the changes, and are archived when they were read. */
  changesOnly: boolean;
  /** Whether the products come from a log of changes with tombstones. */
  hasLog: boolean;
  idempotency: 'honoured' | 'publish';
  productUpdate: 'import' | 'none';
  /** Whether new products may be sent in imports. */
  creates: 'off' | 'auto';
  importAnswer: 'per-row' | 'summary';
  /** The rules of the platform for public passports. */
  gates: 'none' | 'data' | 'review';
  /** With 1, passports that a rule holds back are asked for in each night. With 0 they are not asked for again. */
  recheckBlockedMs: 0 | 1;
  /** The items that the platform has from the start. */
  there: { products: { sku: string; name: string }[]; materials: { code: string; name: string }[] };
}

/** A row of the export gets another content. With null it is removed. */
export type Edit =
  | { part: 'products'; id: string; row: Omit<ProductRow, 'id'> | null }
  | { part: 'materials'; id: string; row: Omit<MaterialRow, 'id'> | null }
  | { part: 'lines'; id: string; row: Omit<LineRow, 'id'> | null };

/** What a person does before the plan. */
export type Act =
  | { do: 'publish' | 'unpublish'; product: string }
  /** With `forget`, the log of the products forgets where it was read last. */
  | { do: 'replay' | 'accept' | 'back up' | 'restore' | 'forget' };

/** A fault of the platform after the plan. */
export interface Trouble {
  operation: Operation | '*';
  what: 'refuses' | 'forbids' | 'fails' | 'loses the answer' | 'loses the request';
  /** How often it happens. */
  count: number;
}

/** What happens after the plan. */
export type Turn =
  /** A sync without the plan, or one that applies it. */
  | { how: 'sync' | 'apply' }
  /** A row changes before the plan is applied, or while it is. */
  | { how: 'stale' | 'apply amid a change'; row: number }
  /** The process dies at this call while it applies the plan, and another one syncs without the plan. */
  | { how: 'killed'; calls: number }
  /** A person stops a sync at this event. */
  | { how: 'stopped'; events: number };

export interface Night {
  edits: Edit[];
  acts: Act[];
  trouble: Trouble[];
  turn: Turn;
}

export interface Script {
  setup: Setup;
  nights: Night[];
}

/** The export after some edits. */
export function edited(content: Export, edits: readonly Edit[]): Export {
  const next = structuredClone(content);
  const replace = <Row extends { id: string }>(rows: Row[], id: string, row: Omit<Row, 'id'> | null): void => {
    const at = rows.findIndex((one) => one.id === id);
    rows.splice(at < 0 ? rows.length : at, 1, ...(row === null ? [] : [{ id, ...row } as Row]));
  };
  for (const edit of edits) {
    if (edit.part === 'products') replace(next.products, edit.id, edit.row);
    else if (edit.part === 'materials') replace(next.materials, edit.id, edit.row);
    else replace(next.lines, edit.id, edit.row);
  }
  return next;
}

/** Another content of one of the rows; null if the export is empty. */
export function otherRow({ products, materials, lines }: Export, number: number): Edit | null {
  const other = (present: string, [first, second]: [string, string]): string => (present === first ? second : first);
  const edits: Edit[] = [
    ...products.map(({ id, ...row }): Edit => {
      return { part: 'products', id, row: { ...row, country: other(row.country, ['SE', 'NO']) } };
    }),
    ...materials.map(({ id, ...row }): Edit => {
      return { part: 'materials', id, row: { ...row, recycled: other(row.recycled, ['0.7', '0.8']) } };
    }),
    ...lines.map(({ id, ...row }): Edit => {
      return { part: 'lines', id, row: { ...row, quantity: other(row.quantity, ['7', '8']) } };
    }),
  ];
  return edits[number % edits.length] ?? null;
}
