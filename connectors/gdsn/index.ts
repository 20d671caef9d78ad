import {
  CHANGES_BY_DEFAULT,
  defineFileConnector,
  type FileRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type OpenFile,
  type OwnIssue,
  type Page,
  readXmlPages,
  type SourceRow,
  XML_FILE_OPTIONS,
  type XmlRecord,
  xmlListOf,
  xmlObjectOf,
  xmlObjectsOf,
  xmlTextOf,
  z,
} from '../../src/sdk/index.ts';

/** The source's `options`. */
const OPTIONS = {
  ...XML_FILE_OPTIONS,
  maxRecordBytes: XML_FILE_OPTIONS.maxRecordBytes
    .default(16 * 1024 * 1024)
    .describe(
      'The longest document command that is accepted, with all items of its hierarchy. Characters are counted.',
    ),
  language: z
    .array(z.string().min(1))
    .min(1)
    .default(['en'])
    .describe(
      'Languages in order of preference, such as `[de, en]`. The texts of all languages are in `tradeItemDescription@lang`.',
    ),
};
type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. */
const STREAM_OPTIONS = {
  ...CHANGES_BY_DEFAULT,
  records: z
    .enum(['items', 'children'])
    .default('items')
    .describe('What the rows are: `items`, or for each item the `children` in its packages, with their quantities.'),
};
type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;

/** Reads the rows of one message. */
function readMessage(
  file: OpenFile,
  { options, stream, signal }: FileRequest<Options, StreamOptions>,
): AsyncGenerator<Page> {
  const { encoding, entities, maxRecordBytes, language } = options;

  const rowsOf = function* ({ fields, place, issues }: XmlRecord): Generator<SourceRow> {
    if (issues !== undefined) {
      yield { fields, place, issues };
      return;
    }
    const command = xmlTextOf(xmlObjectOf(fields['documentCommandHeader'])['@type']);
    let items = 0;
    for (const item of itemsOfCommand(fields)) {
      items += 1;
      for (const row of itemRows(item, command, stream.records)) yield { fields: row, place };
    }
    if (items === 0) yield { fields: { command, ...fields }, place, issues: [NO_ITEM] };
  };

  const reading = { at: '//documentCommand', trim: true, language, languageAttributes: ['languageCode'] };
  return readXmlPages(file, { ...reading, encoding, entities, maxRecordBytes }, signal, rowsOf);
}

const NO_ITEM: OwnIssue = {
  code: 'row.item',
  message: 'The document command has no trade item in a catalogue item notification.',
};

function itemRows(
  item: Parameters<typeof itemRow>[0],
  command: string,
  records: StreamOptions['records'],
): ReturnType<typeof itemRow>[] {
  const row = itemRow(item, command);
  if (records === 'items') return [row];
  const head = { parentGtin: gtinOf(item), command };
  return childrenOf(item).map((child) => ({ ...head, ...child }));
}

/** The items of a document command. Release 2 wraps its notifications in another element. */
function* itemsOfCommand(command: JsonObject): Generator<JsonObject> {
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
function itemRow(item: JsonObject, command: string): JsonObject {
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
function childrenOf(item: JsonObject): JsonObject[] {
  const lower = xmlObjectOf(item['nextLowerLevelTradeItemInformation']);
  return xmlObjectsOf(lower['childTradeItem']).map((child) => ({
    childGtin: gtinOf(child),
    quantity: xmlTextOf(child['quantityOfNextLowerLevelTradeItem']),
  }));
}

/** The GTIN of an item. Release 2 has it in a separate element. */
function gtinOf(item: JsonObject): string {
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

/** Trade items of GS1's Global Data Synchronisation Network: catalogue item notifications. */
export const gdsn = defineFileConnector({
  id: 'gdsn',
  title: 'GS1 GDSN catalogue item notifications (XML)',
  endings: ['.xml'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: readMessage,
});
