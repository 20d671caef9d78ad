import { z } from 'zod';
import { ImportSettings } from './import-settings.ts';
import { fieldNamesOf, ITEM_KINDS, type ItemKind, REF_ROLES } from './item.ts';
import { parseTemplate, TEMPLATES } from './request-template.ts';

const memberName = z.string().min(1).max(255);
const names = z.array(memberName).min(1).max(20);
const places = z.array(memberName).max(20).default([]);
const int = (least: number, most: number) => z.int().min(least).max(most);
const ms = (least: number) => int(least, 3_600_000);

const mediaType = z
  .string()
  .regex(/^[\w.+-]+\/[\w.+-]+(?:; ?[\w.+-]+=[\w.+-]+)*$/, 'a media type such as application/json');

/** The body of a write, as JSON with placeholders. */
const template = (name: keyof typeof TEMPLATES) =>
  z
    .string()
    .max(4_096)
    .superRefine((text, context) => {
      const parsed = parseTemplate(text, TEMPLATES[name]);
      if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.error });
    })
    .nullable()
    .default(null);

const idPaths = (own: string) => names.default(['id', 'uuid', 'pk', own, 'data.id', `data.${own}`]);

/**
 * The names of fields in requests, by canonical name. By default every canonical field keeps its name. Extra fields can
 * be added.
 */
function wireNames(kind: ItemKind) {
  const shape = Object.fromEntries(
    fieldNamesOf(kind).map((name) => [name, memberName.default(name).describe(`The API's name for \`${name}\`.`)]),
  );
  return z.object(shape).catchall(memberName).prefault({});
}

const extraFields = z
  .array(z.string().regex(/^[a-z][a-z0-9_]*$/, 'a name in snake_case'))
  .max(200)
  .default([]);

/** An object of one setting for each kind of item. */
function perKind<Setting extends z.ZodType>(settingOf: (kind: ItemKind) => Setting) {
  return z
    .strictObject({
      product: settingOf('product').describe('For products.'),
      material: settingOf('material').describe('For materials.'),
      bom_item: settingOf('bom_item').describe('For BOM items.'),
    })
    .prefault({} as never);
}

/** The fields by which the API identifies items, unless the profile names others. */
export const NATURAL_KEYS = { product: ['sku'], material: ['code', 'name'] };

/**
 * Every detail that the API document leaves open, with its default. The defaults are those of Django REST Framework,
 * because the paths and nouns of the document look like it.
 *
 * Hashes and natural keys are made from canonical names, so another profile changes nothing in the ledger.
 */
export const Profile = z
  .strictObject({
    naturalKeys: z
      .strictObject({
        product: names.default(NATURAL_KEYS.product).describe('For products.'),
        material: names.default(NATURAL_KEYS.material).describe('For materials.'),
      })
      .prefault({})
      .describe('The fields by which the API identifies an item. The first one with a value counts.'),
    idPaths: perKind((kind) => idPaths(`${kind}_id`)).describe(
      'The place of the id in an answer: dotted paths into the body, tried in this order.',
    ),
    idUrlPaths: perKind(() => places).describe(
      'The place of the address of an item in an answer or an entry of a list, if the answer has no id: dotted paths, tried in this order. The id is the last part of the address. The header `Location` of an answer to a create needs no setting.',
    ),
    wireNames: perKind(wireNames).describe('The name of each field in the API.'),
    refNames: z
      .strictObject({
        product: memberName.default('product').describe('The product that a BOM item belongs to.'),
        material: memberName.default('material').describe('The material that the product contains.'),
        component: memberName.default('component').describe('The product that the product contains.'),
      })
      .prefault({})
      .describe('The names of the refs of a BOM item in the API. Their values are ids.'),
    requests: z
      .strictObject({
        product: template('product').describe('For products.'),
        productRow: template('productRow').describe('For a product in a bulk import.'),
        material: template('material').describe(
          'For materials. `"$id"` stands for the id of the material that is changed.',
        ),
        bom_item: template('bom_item').describe(
          'For BOM items. `"$product"`, `"$material"` and `"$component"` stand for the ids of the refs. Refs without a placeholder are among the fields, under their `refNames`.',
        ),
        contentType: mediaType.default('application/json').describe('The media type of bodies.'),
        updateContentType: mediaType
          .nullable()
          .default(null)
          .describe('The media type of the body of a change. Null means `contentType`.'),
        accept: mediaType.default('application/json').describe('The media type that requests ask for.'),
        ifMatch: z
          .enum(['none', 'any', 'etag'])
          .default('none')
          .describe(
            'The header `If-Match` of the change of a material. `none`: not sent. `any`: `*`. `etag`: the `ETag` of the last answer about the material, or the value at `list.etagAt` of its entry in the list. dpp-sync reads the list again if the platform refuses the value (412, 428).',
          ),
      })
      .prefault({})
      .describe(
        'The form of requests. The body of a write is an object of the fields, or JSON in which `"$fields"` stands for this object, such as `{"data": {"type": "materials", "attributes": "$fields"}}`.',
      ),
    extraFields: perKind(() => extraFields).describe(
      'Further fields that mappings may fill. dpp-sync sends them as the mapping gives them.',
    ),
    decimals: z
      .enum(['string', 'number'])
      .default('string')
      .describe('How decimals are written in JSON. A number may lose digits that a string keeps.'),
    idempotency: z
      .enum(['publish', 'honoured', 'none'])
      .default('publish')
      .describe(
        'Which writes are safe to repeat with the same Idempotency-Key. `publish`: only publishing, as the API document says. `honoured`: every write. `none`: no write. The key is always sent.',
      ),
    duplicateKeys: z
      .enum(['unknown', 'refused'])
      .default('unknown')
      .describe(
        'Whether the API refuses a second product or material with the same natural key. `refused`: it does, so dpp-sync reads the lists only at the first contact. `unknown`: dpp-sync learns it from the answers of the API. Until then it also reads the lists again when a run has many new items.',
      ),
    productUpdate: z
      .enum(['import', 'none'])
      .default('import')
      .describe(
        'How a changed product is sent, since the API has no update of a product. `import`: through the bulk import, which updates a product whose SKU exists. `none`: dpp-sync does not send the change and shows it as blocked.',
      ),
    imports: ImportSettings,
    publications: z
      .strictObject({
        idPaths: names.default(['id', 'uuid', 'pk', 'publication_id']).describe("The publication's own id."),
        productIdPaths: names
          .default(['product_id', 'product.id', 'product'])
          .describe('The id of the product that was published.'),
        productUrlPaths: places.describe(
          'The address of the product, if the entry does not have its id. The id is the last part of the address.',
        ),
        skuPaths: names.default(['sku', 'product_sku', 'product.sku']).describe("The product's SKU."),
        statusPaths: names.default(['status', 'state']).describe('The state of the publication.'),
        publishedAtPaths: names
          .default(['published_at', 'published_on', 'created_at'])
          .describe('When the passport was published.'),
        withdrawnAtPaths: names
          .default(['unpublished_at', 'withdrawn_at', 'revoked_at'])
          .describe('When the passport was withdrawn. The value is empty while the passport is public.'),
        urlPaths: names
          .default(['url', 'public_url', 'passport_url', 'link'])
          .describe('The address of the public passport.'),
        publicStates: names
          .default(['published', 'public', 'active', 'live'])
          .describe(
            'The states in which a passport is public, in upper or lower case. An entry of the publications without a state is public. The answer to a publication has to name one of these states; after any other answer dpp-sync looks in the publications.',
          ),
        withdrawnStates: names
          .default(['unpublished', 'withdrawn', 'revoked', 'retired', 'inactive'])
          .describe(
            'The states of a passport that was withdrawn, in upper or lower case. The answer to a withdrawal has to name one of these states; after any other answer dpp-sync looks in the publications.',
          ),
      })
      .prefault({})
      .describe('The place of each value in an entry of the publications: dotted paths, tried in this order.'),
    reports: z
      .strictObject({
        idPaths: names.default(['id', 'uuid', 'pk', 'report_id', 'data.id']).describe("The report's id."),
        typePaths: names.default(['type', 'report_type', 'kind', 'name', 'title']).describe('The kind of the report.'),
        statusPaths: names.default(['status', 'state']).describe('Whether the report is ready.'),
        createdAtPaths: names.default(['created_at', 'generated_at', 'date']).describe('When the report was made.'),
      })
      .prefault({})
      .describe('The place of each value in a report: dotted paths, tried in this order.'),
    pdfBytesMax: int(1_024, 1_073_741_824)
      .default(67_108_864)
      .describe('The highest number of bytes of a passport as PDF. A larger one is an error.'),
    scopes: z
      .strictObject({
        reportCreate: z
          .enum(['read', 'write'])
          .default('read')
          .describe(
            'The scope that creating a report needs. The document lists the operation under read and does not name its scope.',
          ),
      })
      .prefault({})
      .describe('Scopes that the API document does not state.'),
    list: z
      .strictObject({
        itemsAt: names
          .default(['results', 'data', 'items', 'content', 'value', 'edges', 'nodes'])
          .describe(
            'The members of an answer that may have the entries of a list. Not needed if the answer itself is a list.',
          ),
        entry: memberName
          .nullable()
          .default(null)
          .describe(
            'The place of the fields in an entry of a list and in the item of an answer, such as `attributes`. The id stays beside it. Null means that the entry itself has the fields.',
          ),
        paging: z
          .enum(['auto', 'page', 'offset', 'cursor', 'link', 'none'])
          .default('auto')
          .describe(
            'How dpp-sync asks for the next page. `auto`: as the answers say; if the answers do not say it, dpp-sync tries the usual ways. `page`: by its number. `offset`: by the number of entries to leave out. `cursor` or `link`: with the cursor or the link of the answer; an answer without one is the last. `none`: not at all, because one answer has all entries.',
          ),
        pageParameter: memberName
          .default('page')
          .describe('The query parameter that asks for a page by number, if the answer has no link to the next page.'),
        firstPage: int(0, 1)
          .nullable()
          .default(null)
          .describe(
            'The number of the first page. If this is null, dpp-sync finds the number out. If this is null and `paging` is `page`, the number is 1.',
          ),
        offsetParameter: memberName
          .default('offset')
          .describe('The query parameter that says how many entries to leave out.'),
        cursorParameter: memberName
          .nullable()
          .default(null)
          .describe('The query parameter that takes a cursor. Null means the usual parameter for each kind of cursor.'),
        sizeParameter: memberName.default('page_size').describe('The query parameter that asks for a page size.'),
        pageSize: int(1, 10_000)
          .nullable()
          .default(500)
          .describe(
            'How many entries a page should have. Null leaves the number to the API. If the API refuses the parameter, dpp-sync leaves it out.',
          ),
        nextAt: places.describe(
          'The place in an answer of the link or the cursor to the next page: dotted paths or names of headers. An empty list means the usual places.',
        ),
        moreAt: places.describe(
          'The place in an answer of the value, true or false, that says whether there are more pages. An empty list means the usual places.',
        ),
        countAt: places.describe(
          'The place in an answer of the number of entries on all pages. An empty list means the usual places.',
        ),
        etagAt: places.describe(
          'The place of the version in an entry of the materials, for `requests.ifMatch: etag`: dotted paths. Without it dpp-sync only knows the versions that answers have in the header `ETag`.',
        ),
        lagMs: ms(0)
          .default(30_000)
          .describe(
            'How far a list may lag behind the writes that the API has acknowledged, in milliseconds. An item counts as absent if the list shows an item that was written later, or if two lists that are read this far apart both lack the item. 0 means that lists never lag.',
          ),
      })
      .prefault({})
      .describe(
        'How listings are read. dpp-sync uses a listing only if the answers prove that it was read to its end. If neither the answers nor these settings show the paging, dpp-sync tries the usual ways.',
      ),
    answers: z
      .strictObject({
        unprocessed503: z
          .array(z.string().trim().min(3).max(255))
          .max(50)
          .default([
            'no healthy upstream',
            // The words `retried and the latest` are not in this list: with them the gateway has sent the request
            // before, and that attempt may have arrived.
            'before headers. reset reason: overflow',
            'rate limit',
            'rate-limit',
            'rate_limit',
            'ratelimit',
            'too many requests',
            'throttl',
          ])
          .describe(
            'Words in the body of a 503, in upper or lower case, which prove that the request was not processed. Such a request is sent again later. Any other 503 leaves a write unconfirmed, as a 504 does. The page of an nginx whose limits answer 503 is not among them: it can stand for a 503 of the server behind it, after the write took effect (docs/operations.md).',
          ),
        withoutProof: z
          .enum(['hold', 'accept'])
          .default('hold')
          .describe(
            'What happens to a publication, a withdrawal, a BOM item or an imported change of a product whose success the answer does not prove and no list can show, or whose list could not be read to its end five times in a row. `hold`: it stays unconfirmed until a person decides or a list shows it, and no other change of a product is imported. `accept`: it counts as done, and `dpp-sync status` shows how many of them were accepted without proof. An answer in an unknown word is never accepted.',
          ),
      })
      .prefault({})
      .describe('How answers are understood.'),
    timeouts: z
      .strictObject({
        connectMs: ms(100).default(10_000).describe('The time limit for the connection: DNS, TCP and TLS together.'),
        headersMs: ms(1_000)
          .default(30_000)
          .describe("The time limit from the request's last byte to the answer's headers."),
        bodyMs: ms(1_000).default(30_000).describe("The time limit between two pieces of the answer's body."),
        totalMs: ms(1_000).default(120_000).describe('The time limit for a whole request.'),
      })
      .prefault({})
      .describe('Time limits of a request, in milliseconds.'),
    settlingDelayMs: z
      .strictObject({
        reset: ms(0)
          .default(2_000)
          .describe('The delay after the connection or this process was lost, or after an answer that cannot be used.'),
        timeout: ms(0)
          .default(30_000)
          .describe('The delay after a time limit has passed. The platform may still be processing the request.'),
      })
      .prefault({})
      .describe(
        'How long dpp-sync waits after an unconfirmed write, in milliseconds. Only a listing that begins after this delay can prove that the write is absent. If keys are not honoured, the write is repeated only after this delay.',
      ),
    retry: z
      .strictObject({
        attemptsMax: int(1, 100)
          .default(8)
          .describe('After how many attempts a delivery is given up (`parked`), so that a person decides.'),
        backoff: z
          .strictObject({
            baseMs: ms(1).default(500).describe('The upper bound of the wait before the first retry.'),
            capMs: ms(1).default(60_000).describe('The upper bound of the wait before any retry.'),
          })
          .prefault({})
          .describe('Exponential backoff with full jitter, in milliseconds.'),
      })
      .prefault({})
      .describe(
        'How often dpp-sync sends a delivery that fails for a temporary reason. Waiting for a rate limit uses no attempt.',
      ),
    recheckBlockedMs: int(0, 2_592_000_000)
      .default(21_600_000)
      .describe(
        'The time after which a delivery that a business rule has blocked (409) is sent again automatically, in milliseconds. The time varies at random by up to a fifth. 0 means never. A change of the item sends the delivery sooner.',
      ),
    answerBytesMax: int(1_024, 1_073_741_824)
      .default(8_388_608)
      .describe('The highest number of bytes of an answer in JSON. A larger one is an error.'),
  })
  .superRefine((profile, context) => {
    for (const kind of ITEM_KINDS) {
      const known = new Set([...fieldNamesOf(kind), ...profile.extraFields[kind]]);
      // Two fields with the same name in requests would silently overwrite each other.
      const taken = new Map<string, string>(
        kind === 'bom_item' ? REF_ROLES.map((role) => [profile.refNames[role], `refs.${role}`]) : [],
      );
      for (const name of known) {
        const names = profile.wireNames[kind];
        const wire = Object.hasOwn(names, name) ? (names[name] ?? name) : name;
        const other = taken.get(wire);
        taken.set(wire, name);
        if (other === undefined) continue;
        const message = `${other} and ${name} would both be sent as "${wire}".`;
        context.addIssue({ code: 'custom', path: ['wireNames', kind, name], message });
      }
      for (const name of Object.keys(profile.wireNames[kind])) {
        if (known.has(name)) continue;
        const message = `"${name}" is not a canonical field of a ${kind}; list it in extraFields.${kind} if mappings are to fill it.`;
        context.addIssue({ code: 'custom', path: ['wireNames', kind, name], message });
      }
    }
    // A name is sent as it is. If dots in it were a path in answers, reading and writing would differ.
    const dotted = (path: string[], name: string): void => {
      if (!name.includes('.')) return;
      const message = `"${name}" has a dot, and a field is sent under one name. If the fields are inside another field, say so with \`list.entry\` for answers and with \`requests\` for requests.`;
      context.addIssue({ code: 'custom', path, message });
    };
    for (const kind of ITEM_KINDS) {
      for (const [name, wire] of Object.entries(profile.wireNames[kind])) dotted(['wireNames', kind, name], wire);
    }
    for (const role of REF_ROLES) dotted(['refNames', role], profile.refNames[role]);
    const { idPaths: ownPaths, productIdPaths } = profile.publications;
    for (const [index, path] of productIdPaths.entries()) {
      if (!ownPaths.includes(path)) continue;
      const message = `"${path}" is the id of the publication itself (\`publications.idPaths\`), so it cannot be the id of the product. Name the field of the product, or leave it out: the SKU of an entry is enough (\`skuPaths\`).`;
      context.addIssue({ code: 'custom', path: ['publications', 'productIdPaths', index], message });
    }
    for (const kind of ['product', 'material'] as const) {
      const known = [...fieldNamesOf(kind), ...profile.extraFields[kind]];
      for (const [index, name] of profile.naturalKeys[kind].entries()) {
        if (known.includes(name)) continue;
        const message = `"${name}" is neither a canonical field of a ${kind} nor one of extraFields.${kind}.`;
        context.addIssue({ code: 'custom', path: ['naturalKeys', kind, index], message });
      }
    }
  });
export type Profile = z.infer<typeof Profile>;

/** Names that mappings may use for the fields of a kind under this profile. */
export function allowedFieldsOf(profile: Profile, kind: ItemKind): string[] {
  return [...fieldNamesOf(kind), ...profile.extraFields[kind]];
}
