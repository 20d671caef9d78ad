/** A small export for tests of commands. All of it can be delivered. */
export const GOOD_FILES = {
  'products.csv': 'ID,SKU,NAME,COUNTRY\n1,A-1,Pump,DE\n2,A-2,Motor,SE\n',
  'materials.csv': 'ID,NAME\n900,Steel\n',
  'boms.csv': 'NO,PARENT,PART,QTY\n1,1,900,2.5\n2,2,900,1\n',
};

/** Two records that cannot be mapped, and a BOM item that waits for one of them. */
export const FLAWED_FILES = {
  ...GOOD_FILES,
  'products.csv': "ID,SKU,NAME,COUNTRY\n1,A-1,Pump,DE\n2,A-2,=cmd|' /C calc'!A0,XX\n3,A-3,,SE\n",
};

/** The `sources` section for these files. */
export const EXPORT_SOURCES = [
  {
    id: 'erp',
    connector: 'csv',
    streams: {
      products: { path: './products.csv', key: ['ID'] },
      materials: { path: './materials.csv', key: ['ID'] },
      boms: { path: './boms.csv', key: ['NO'] },
    },
    mappings: [
      {
        stream: 'products',
        to: 'product',
        key: 'row.ID',
        fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'country(row.COUNTRY)' },
      },
      { stream: 'materials', to: 'material', key: 'row.ID', fields: { code: 'row.ID', name: 'row.NAME' } },
      {
        stream: 'boms',
        to: 'bom_item',
        key: 'row.NO',
        refs: { product: 'row.PARENT', material: 'row.PART' },
        fields: { quantity: 'decimal(row.QTY)' },
      },
    ],
  },
];
