import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  xmlListOf,
  xmlObjectOf,
  xmlObjectsOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';

/** The items of a document command. Release 2 wraps its notifications in another element. */
export function* itemsOfCommand(command: JsonObject): Generator<JsonObject> {
  for (const notification of elementsOf(command, 'catalogueItemNotification')) {
    for (const catalogueItem of xmlObjectsOf(xmlObjectOf(notification)['catalogueItem'])) {
      yield* tradeItemsOf(catalogueItem);
    }
  }
}

/** The items of a hierarchy, the outermost package first. */
function* tradeItemsOf(catalogueItem: JsonObject): Generator<JsonObject> {
  const item = xmlObjectOf(catalogueItem['tradeItem']);
  if (Object.keys(item).length > 0) yield item;
  for (const link of xmlObjectsOf(catalogueItem['catalogueItemChildItemLink'])) {
    for (const child of xmlObjectsOf(link['catalogueItem'])) yield* tradeItemsOf(child);
  }
}

/**
 * The row of an item. Modules are searched by name, because they are at different places in each release of the
 * standard.
 */
export function itemRow(item: JsonObject, command: string): JsonObject {
  const text = (name: string): string => xmlTextOf(elementsOf(item, name)[0]);
  const languages = (name: string): JsonObject => xmlObjectOf(elementsOf(item, `${name}@lang`)[0]);
  return {
    gtin: gtinOf(item),
    command,
    tradeItemUnitDescriptorCode: text('tradeItemUnitDescriptorCode') || text('tradeItemUnitDescriptor'),
    isTradeItemABaseUnit: text('isTradeItemABaseUnit'),
    isTradeItemAConsumerUnit: text('isTradeItemAConsumerUnit'),
    brandName: text('brandName'),
    tradeItemDescription: text('tradeItemDescription'),
    'tradeItemDescription@lang': languages('tradeItemDescription'),
    descriptionShort: text('descriptionShort'),
    functionalName: text('functionalName'),
    gpcCategoryCode: text('gpcCategoryCode'),
    targetMarketCountryCode: text('targetMarketCountryCode'),
    countryOfOrigin: elementsOf(item, 'countryOfOrigin').flatMap(countriesOf),
    netContent: elementsOf(item, 'netContent').map(measureOf),
    netWeight: measureOf(elementsOf(item, 'netWeight')[0]),
    grossWeight: measureOf(elementsOf(item, 'grossWeight')[0]),
    height: measureOf(elementsOf(item, 'height')[0]),
    width: measureOf(elementsOf(item, 'width')[0]),
    depth: measureOf(elementsOf(item, 'depth')[0]),
    children: childrenOf(item),
    tradeItem: item,
  };
}

/** One entry of a package: an item and its quantity. */
export function childrenOf(item: JsonObject): JsonObject[] {
  const lower = xmlObjectOf(item['nextLowerLevelTradeItemInformation']);
  return xmlObjectsOf(lower['childTradeItem']).map((child) => ({
    childGtin: gtinOf(child),
    quantity: xmlTextOf(child['quantityOfNextLowerLevelTradeItem']),
  }));
}

/** The GTIN of an item. Release 2 has it in a separate element. */
export function gtinOf(item: JsonObject): string {
  return xmlTextOf(item['gtin']) || xmlTextOf(xmlObjectOf(item['tradeItemIdentification'])['gtin']);
}

/** All elements of a name below an element, without those in its child items. */
function elementsOf(element: JsonObject, name: string): JsonValue[] {
  const found: JsonValue[] = [];
  const visit = (value: JsonValue): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    else if (isJsonObject(value)) {
      for (const [member, inner] of Object.entries(value)) {
        if (member === name) found.push(...(Array.isArray(inner) ? inner : [inner]));
        else if (member !== 'nextLowerLevelTradeItemInformation') visit(inner);
      }
    }
  };
  visit(element);
  return found;
}

function measureOf(element: JsonValue | undefined): JsonObject {
  const members = xmlObjectOf(element);
  return { value: xmlTextOf(element), unit: xmlTextOf(members['@measurementUnitCode'] ?? members['@unitOfMeasure']) };
}

function countriesOf(element: JsonValue): string[] {
  const codes = xmlListOf(xmlObjectOf(element)['countryCode']).map((code) => xmlTextOf(code));
  return codes.length > 0 ? codes : [xmlTextOf(element)].filter((code) => code !== '');
}
