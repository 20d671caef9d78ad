import {
  type JsonObject,
  type JsonValue,
  sourceFault,
  type XmlRecord,
  xmlListOf,
  xmlObjectOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';

const SYSTEM = '/BMECAT/T_*/CLASSIFICATION_SYSTEM';
/**
 * The elements of a classification system that features refer to. Each is a record of its own, because the whole system may
 * be much longer than a record.
 */
export const DICTIONARY_PATHS = [
  `${SYSTEM}/CLASSIFICATION_SYSTEM_NAME`,
  `${SYSTEM}//CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE`,
  `${SYSTEM}//ALLOWED_VALUE`,
  `${SYSTEM}//UNIT`,
].join(' | ');

/** How many entries of one catalogue are kept. All of ECLASS has about a hundred thousand. */
const ENTRIES_MAX = 1_000_000;

/** The template of a feature. All texts may be empty. */
interface Template {
  id: string;
  name: string;
  unit: string;
}

/** What a catalogue says about the features, values and units to which its products refer by ids. */
export function createDictionary(file: string) {
  const templates = new Map<string, Template & { unitId: string }>();
  const values = new Map<string, string>();
  const units = new Map<string, string>();
  let current = '';
  const entry = (system: string, id: string) => `${system}\n${id}`;

  const kept = <Value>(map: Map<string, Value>, id: string, value: Value): true => {
    map.set(entry(current, id), value);
    if (templates.size + values.size + units.size <= ENTRIES_MAX) return true;
    throw sourceFault(`${file} declares more than ${ENTRIES_MAX} templates, values and units of features.`, {
      suggestion: 'Write the catalogue without the parts of the classification system that its products do not use.',
    });
  };

  return {
    /**
     * Adds the element of a record; returns false for any other element. A catalogue has its systems before its products.
     *
     * @throws a `sourceFault` if the catalogue has too many entries
     */
    add({ name }: XmlRecord, fields: JsonObject): boolean {
      switch (name) {
        case 'CLASSIFICATION_SYSTEM_NAME':
          current = xmlTextOf(fields);
          return true;
        case 'CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE': {
          const template = templateIn(fields);
          return kept(templates, template.id, template);
        }
        case 'ALLOWED_VALUE':
          return kept(values, xmlTextOf(fields['ALLOWED_VALUE_ID']), xmlTextOf(fields['ALLOWED_VALUE_NAME']));
        case 'UNIT':
          return kept(units, xmlTextOf(fields['UNIT_ID']), unitIn(fields));
        default:
          return false;
      }
    },
    /** The template to which a feature refers, or which it contains; null for a feature with a name only. */
    templateOf(feature: JsonObject, system: string): Template | null {
      const reference = xmlTextOf(feature['FT_IDREF']);
      const own = templateIn(xmlObjectOf(feature['FTEMPLATE']));
      const id = reference || own.id;
      if (id === '' && own.name === '') return null;
      const declared = templates.get(entry(system, id));
      const unitId = own.unitId || (declared?.unitId ?? '');
      return {
        id,
        name: own.name || (declared?.name ?? ''),
        unit: own.unit || declared?.unit || (units.get(entry(system, unitId)) ?? unitId),
      };
    },
    /** The names of the values to which a feature refers; the id of a value that the catalogue does not declare. */
    valuesOf: (feature: JsonObject, system: string): JsonValue[] =>
      xmlListOf(feature['VALUE_IDREF']).map((one) => {
        const id = xmlTextOf(one);
        return values.get(entry(system, id)) || id;
      }),
  };
}

export type Dictionary = ReturnType<typeof createDictionary>;

/** The unit is in the template, or in the description of its content. */
function templateIn(fields: JsonObject): Template & { unitId: string } {
  const content = { ...xmlObjectOf(fields['FT_CONTENT']), ...xmlObjectOf(fields['FEATURE_CONTENT']), ...fields };
  return {
    id: xmlTextOf(fields['FT_ID']),
    name: xmlTextOf(fields['FT_NAME']),
    unit: xmlTextOf(content['FT_UNIT']),
    unitId: xmlTextOf(content['FT_UNIT_IDREF']),
  };
}

function unitIn(fields: JsonObject): string {
  return xmlTextOf(fields['UNIT_CODE']) || xmlTextOf(fields['UNIT_SHORTNAME']) || xmlTextOf(fields['UNIT_NAME']);
}
