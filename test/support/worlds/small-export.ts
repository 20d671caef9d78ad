/** A small export of products, materials and a bill of materials, and the sources that map it. */
export interface SmallExport {
  products: { id: string; name: string; country?: string; status?: string }[];
  materials: { id: string; name: string; recycled?: string }[];
  lines: { id: string; product: string; material?: string; component?: string; quantity: string }[];
}

export const SMALL: SmallExport = {
  products: [
    { id: 'P1', name: 'Fan', country: 'DE' },
    { id: 'P2', name: 'Housing', country: 'AT' },
    { id: 'P3', name: 'Motor', country: 'Germany' },
  ],
  materials: [
    { id: 'M1', name: 'Steel', recycled: '0.4' },
    { id: 'M2', name: 'Copper', recycled: '0.25' },
  ],
  lines: [
    { id: '1', product: 'P1', component: 'P2', quantity: '1' },
    { id: '2', product: 'P1', component: 'P3', quantity: '2' },
    { id: '3', product: 'P2', material: 'M1', quantity: '1.25' },
    { id: '4', product: 'P3', material: 'M2', quantity: '0.5' },
  ],
};

const csv = (header: string, rows: (string | undefined)[][]): string =>
  `${[header, ...rows.map((row) => row.map((value) => value ?? '').join(';'))].join('\n')}\n`;

/** The export as files, by path. */
export function smallFiles({ products, materials, lines }: SmallExport): Record<string, string> {
  return {
    'exports/products.csv': csv(
      'ID;NAME;COUNTRY;STATUS',
      products.map((one) => [one.id, one.name, one.country, one.status]),
    ),
    'exports/materials.csv': csv(
      'ID;NAME;RECYCLED',
      materials.map((one) => [one.id, one.name, one.recycled]),
    ),
    'exports/bom.csv': csv(
      'ID;PRODUCT;MATERIAL;COMPONENT;QTY',
      lines.map((one) => [one.id, one.product, one.material, one.component, one.quantity]),
    ),
  };
}

export const SMALL_SOURCES = [
  {
    id: 'erp',
    connector: 'csv',
    options: { delimiter: ';' },
    streams: {
      products: { path: './exports/products.csv', key: ['ID'] },
      materials: { path: './exports/materials.csv', key: ['ID'] },
      boms: { path: './exports/bom.csv', key: ['ID'] },
    },
    mappings: [
      {
        stream: 'products',
        to: 'product',
        key: 'row.ID',
        fields: {
          sku: '"SKU-" + row.ID',
          name: 'row.NAME',
          status: 'row.STATUS',
          country_of_origin: 'country(row.COUNTRY)',
        },
      },
      {
        stream: 'materials',
        to: 'material',
        key: 'row.ID',
        fields: { code: 'row.ID', name: 'row.NAME', recycled_mass_fraction: 'decimal(row.RECYCLED)' },
      },
      {
        stream: 'boms',
        to: 'bom_item',
        key: 'row.ID',
        refs: { product: 'row.PRODUCT', material: 'row.MATERIAL', component: 'row.COMPONENT' },
        fields: { quantity: 'decimal(row.QTY)' },
      },
    ],
  },
];

/** The export with a change of one product, material or line, which is found by its id. */
export function changed<K extends keyof SmallExport>(
  kind: K,
  id: string,
  change: Partial<SmallExport[K][number]>,
): SmallExport {
  return { ...SMALL, [kind]: SMALL[kind].map((one) => (one.id === id ? { ...one, ...change } : one)) };
}

/** A larger export of the same kind: `count` products, each with a separate material and a line for that material. */
export function largeExport(count: number): SmallExport {
  const ids = Array.from({ length: count }, (_, index) => String(index + 1));
  return {
    products: ids.map((id) => ({ id: `P${id}`, name: `Product ${id}`, country: 'DE' })),
    materials: ids.map((id) => ({ id: `M${id}`, name: `Material ${id}`, recycled: '0.5' })),
    lines: ids.map((id) => ({ id, product: `P${id}`, material: `M${id}`, quantity: '1' })),
  };
}
