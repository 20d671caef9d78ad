import type { World } from '../../support/worlds/world.ts';

/** The BOM items of the platform in the form `A-1 ← 2 M-1`, ordered by product, and then by the part. */
export function bomLines(world: World): string[] {
  const { products, materials, bomItems } = world.contents();
  const skuOf = (id: unknown) => shown(products.find((one) => one['id'] === id)?.['sku']);
  const codeOf = (id: unknown) => shown(materials.find((one) => one['id'] === id)?.['code']);
  return bomItems
    .map(({ product, component, material, quantity }) => {
      const part = component === null ? codeOf(material) : skuOf(component);
      return [skuOf(product), part, `${skuOf(product)} ← ${shown(quantity)} ${part}`] as const;
    })
    .toSorted((a, b) => a[0].localeCompare(b[0]) || a[1].localeCompare(b[1]))
    .map(([, , line]) => line);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
